// Apple's `BGTaskScheduler` is in a module of its own. Code that imports it keeps the line; the names are in AppLifecycle.
@_exported public import AppLifecycle
