"""Pictures of ideas, one module per lesson; each function draws one picture with one message."""
