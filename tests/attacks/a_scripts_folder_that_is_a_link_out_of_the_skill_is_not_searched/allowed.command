show {skill}
