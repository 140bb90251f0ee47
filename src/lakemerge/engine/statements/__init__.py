"""SQL statements that change rows: DELETE, UPDATE, MERGE INTO, INSERT and TRUNCATE, each as one commit."""
