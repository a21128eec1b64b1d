-- Whether some job waits for a parent.
SELECT 1 FROM mainstay_after LIMIT 1
