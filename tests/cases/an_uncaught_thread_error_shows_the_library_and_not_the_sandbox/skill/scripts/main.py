import threading
threading.Thread(target=print).start()
