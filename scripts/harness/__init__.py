"""What the drill and the bench share: programs, HTTP, the database seen from outside."""
