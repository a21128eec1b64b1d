-- … and takes over what it is about.
UPDATE mainstay_body SET payload = :payload, tenant = :tenant, ref = :ref, tags = :tags WHERE job = :seq
