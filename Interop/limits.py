"""How long a test waits for what must come. Nothing waits that long unless it fails, so the machine
may be busy; what must not take long is measured by the test that says so."""

EVENT = 60
# The start of a server: ejabberd takes 45 s beside compilers.
START = 180
