"""The services that search the web, one module each, found by being here."""
