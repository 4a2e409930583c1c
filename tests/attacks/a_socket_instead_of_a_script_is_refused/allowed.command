run {skill} socket.py
