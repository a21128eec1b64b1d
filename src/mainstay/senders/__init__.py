"""What leaves this machine: requests that go only to addresses that were checked, with a signature."""
