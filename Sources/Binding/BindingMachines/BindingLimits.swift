package import Essentials

/// Limits of the work and the memory that a page, or a malicious client, can cause.
package enum BindingLimits {
  // MARK: What a client sends

  /// The maximum size of a request's body in bytes, far more than the input between two requests.
  package static let bodyByteCountMax = 256 * 1_024
  /// The maximum number of operations in one request; a page splits more over several requests.
  package static let operationCountMax = 256
  /// The maximum size of a text that is set, in bytes of UTF-8.
  package static let textByteCountMax = 64 * 1_024
  /// The maximum size of a row's key, in bytes of UTF-8.
  package static let keyByteCountMax = 256
  /// The maximum size of a page's name with the number of its tab.
  package static let tabByteCountMax = 107

  /// The maximum size of a part of a file: that of other bodies.
  package static let uploadPartByteCountMax = bodyByteCountMax
  /// The maximum size of all files of a server's view models together.
  package static let uploadByteCountMax = 4 << 30
  /// The maximum number of files of a server's view models together.
  package static let uploadCountMax = 4_096
  /// The time without a part after which a file counts as interrupted.
  package static let uploadSilenceMax = TimeSpan.seconds(5 * 60)

  // MARK: What a view model shows

  /// The maximum number of paths of a page, and of a row.
  package static let pathCountMax = 1_024
  /// The maximum number of rows of a list. The page has an element for each; browsers take seconds
  /// for more.
  package static let rowCountMax = 10_000
  /// The maximum number of lists in each other: a list of the page, and three in rows of rows. View models
  /// whose rows are of their own type would have lists without end.
  package static let listDepthMax = 4
  /// The maximum number of elements of a one-way array, such as those of a chart.
  package static let elementCountMax = 4_096
  /// The number of previous orders of a list that are stored. A client that is more changes behind
  /// gets all rows instead of the difference.
  package static let orderCountMax = 32

  // MARK: Clients

  /// The maximum number of tabs of all browsers. Each needs a view model and some kilobytes.
  package static let sessionCountMax = 4_096
  /// The maximum number of tabs that share one stream; they belong to one browser.
  package static let tabCountMax = 64
  /// The time that a tab's view model is kept after the tab disconnected.
  package static let idleTimeMax = TimeSpan.seconds(30 * 60)
  /// The same for a tab whose page was left: the time for it to be loaded again.
  package static let leftTimeMax = TimeSpan.seconds(60)
  /// The time for which no tab must show a view model for it to be told that it has disappeared.
  package static let disappearanceTime = TimeSpan.seconds(3)
  /// The maximum number of disconnected tabs whose view models of their own are kept.
  package static let waitingCountMax = 256
  /// The time after which a stream is closed if its client doesn't read. The client connects again.
  package static let writeTimeMax = TimeSpan.seconds(30)
  /// The interval of messages that keep proxies and clients from closing an idle stream. A page that
  /// gets nothing for 20 to 25 s takes the server for gone.
  package static let heartbeatInterval = TimeSpan.seconds(10)
  /// The time without a sign of life after which the stream of a browser is closed: three of those
  /// that pages give each 15 s.
  package static let silenceMax = TimeSpan.seconds(45)
  /// The minimum time between patches to one client: 30 a second. Users don't notice a higher rate.
  package static let patchInterval = TimeSpan.nanoseconds(1_000_000_000 / 30)
  /// The minimum time between patches to all clients: 12,000 a second, so that a page with hundreds
  /// of clients leaves most of a processor to others. Each of 500 clients whose page changes
  /// permanently gets 24 a second.
  package static let sharedPatchInterval = TimeSpan.nanoseconds(1_000_000_000 / 12_000)
  /// The maximum time that a client's patch can be delayed in favour of other clients.
  package static let sharedPatchDelayMax = TimeSpan.milliseconds(500)
  /// The maximum number of patches that are sent early because they acknowledge the user's input.
  package static let urgentPatchCountMax = 10
  /// Wake times are rounded up to a multiple of this, so that many clients are served together.
  package static let wakeGranularity = TimeSpan.milliseconds(4)
}
