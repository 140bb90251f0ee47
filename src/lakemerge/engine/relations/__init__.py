"""Tables as dbt and Spark see them: catalogs, comments, columns and their types."""
