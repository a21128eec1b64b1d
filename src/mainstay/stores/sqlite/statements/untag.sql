-- Takes one tag of one job away. Served by the primary key: a tag that a million jobs share is not walked through.
DELETE FROM mainstay_tag WHERE tag = ? AND job = ?
