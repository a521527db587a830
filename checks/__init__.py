"""The ReFrame checks. A module contains the checks of one type of link or property, or code that checks share."""
