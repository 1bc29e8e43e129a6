"""Operations on images and random fields that several nuisances share. Nothing here is registered."""
