"""What jobs are tested with: the pytest fixture `mainstay`, inline mode, one handler alone, and the simulator."""
