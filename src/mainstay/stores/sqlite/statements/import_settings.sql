-- A setting of the installation that moves here.
INSERT INTO mainstay_setting (name, value) VALUES (?, ?)
