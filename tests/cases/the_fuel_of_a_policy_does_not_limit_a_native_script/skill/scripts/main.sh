echo it ran
