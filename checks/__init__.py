"""The ReFrame checks. Each module has the checks of one type of link or property, or code that checks share."""
