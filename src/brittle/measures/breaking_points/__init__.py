"""Breaking points: the severity at which a prediction leaves the clean prediction (UREM, section 3.1)."""
