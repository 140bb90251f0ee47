"""Files and topics into tables: options, records, types, batches."""
