-- Settings of the installation that moves here.
INSERT INTO mainstay.setting (name, value) SELECT * FROM unnest($1::text[], $2::text[])
