package import Essentials

/// Limits of the work and the memory that a page, or a malicious client, can cause.
package enum BindingLimits {
  // MARK: What a client sends

  /// A request's body. All input between two requests fits many times over.
  package static let bodyByteCountMax = 256 * 1_024
  /// Operations in one request; a page splits more operations over several requests.
  package static let operationCountMax = 256
  /// A text that is set, in UTF-8: a long letter.
  package static let textByteCountMax = 64 * 1_024
  /// The key of a row, in UTF-8.
  package static let keyByteCountMax = 256
  /// The name of a page and the number of its tab.
  package static let tabByteCountMax = 96

  // MARK: What a view model shows

  /// Paths of a page, and of a row.
  package static let pathCountMax = 1_024
  /// Rows of a list. The page has an element for each; browsers take seconds for more.
  package static let rowCountMax = 10_000
  /// Values of a one-way array: a chart's.
  package static let elementCountMax = 4_096
  /// Orders of a list that are remembered, so that a client that is that many changes behind gets
  /// the difference. It gets all rows otherwise.
  package static let orderCountMax = 32

  // MARK: Clients

  /// Tabs at a time, of all browsers; per tab there are a view model and some kilobytes.
  package static let sessionCountMax = 4_096
  /// Tabs that share one stream, which is one browser's.
  package static let tabCountMax = 64
  /// How long a tab's view model waits for it to come back.
  package static let idleTimeMax = TimeSpan.seconds(30 * 60)
  /// What a client hasn't read for so long, it won't: the stream ends, and it connects anew.
  package static let writeTimeMax = TimeSpan.seconds(30)
  /// What proxies and clients take for a sign of life.
  package static let heartbeatInterval = TimeSpan.seconds(15)
  /// From one patch to the next: 30 a second. Users don't notice a higher rate.
  package static let patchInterval = TimeSpan.nanoseconds(1_000_000_000 / 30)
  /// From one patch to the next of all clients together: 12,000 a second, so that a page that hundreds
  /// of clients look at leaves most of a processor to others. Each of 500 clients whose page changes
  /// without a pause gets 24 a second.
  package static let sharedPatchInterval = TimeSpan.nanoseconds(1_000_000_000 / 12_000)
  /// How long a client may wait for others after its own turn has come.
  package static let sharedPatchDelayMax = TimeSpan.milliseconds(500)
  /// Patches that may come sooner because they acknowledge the user's input.
  package static let urgentPatchCountMax = 10
  /// Waking is rounded up to this, so that a thousand clients are served in one go.
  package static let wakeGranularity = TimeSpan.milliseconds(4)
}
