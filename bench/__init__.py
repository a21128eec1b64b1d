"""The figures of the README: mainstay beside a hand-written loop of plain SQL or Lua and beside its peers, in one command.

python -m bench                    everything on SQLite, three rounds, some minutes
python -m bench --engine postgres  the same on a PostgreSQL of its own; redis: on a Valkey; all: on each in turn
python -m bench --quick            the same paths with small numbers, under a minute: checks the counts, not the speed
python -m bench --only drain limit mainstay
python -m bench --against REV      this working tree beside another commit, in alternating pairs
"""
