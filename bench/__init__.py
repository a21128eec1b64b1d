"""The figures of the README: mainstay beside a hand-written loop of plain SQL and beside its peers, in one command.

python -m bench                    everything, three rounds, some minutes
python -m bench --quick            the same paths with small numbers, under a minute: proves the counts, not the speed
python -m bench --only drain limit mainstay
"""
