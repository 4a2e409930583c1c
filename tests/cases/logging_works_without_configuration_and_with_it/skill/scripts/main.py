import logging, sys
logging.warning("root warning")
log = logging.getLogger("app")
log.error("an error %s", 1)
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(filename)s:%(lineno)d %(funcName)s %(message)s", stream=sys.stdout, force=True)
def work():
    log.info("in work")
    try:
        {}["x"]
    except KeyError:
        log.exception("failed")
work()
