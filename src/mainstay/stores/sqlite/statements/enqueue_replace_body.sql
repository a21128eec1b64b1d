-- … and its payload.
UPDATE mainstay_body SET payload = :payload WHERE job = :seq
