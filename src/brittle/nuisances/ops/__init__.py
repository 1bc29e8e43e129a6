"""Operations on images and random fields that nuisances are made of. Nothing here is registered."""
