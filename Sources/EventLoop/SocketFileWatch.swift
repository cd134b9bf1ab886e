package import Essentials

/// The file of a server's socket, which may be removed or replaced while the server runs. Used on its loop only
/// once it is started; its owner must call ``close()``.
///
/// Clients don't find the server then, so the file is looked for from time to time, and made again.
package final class SocketFileWatch {
  private let path: String
  private let span: TimeSpan
  private let makeAgain: () throws(SystemError) -> Void
  private let onResult: (SystemError?) -> Void
  private var identity: UNIXSocketFile.Identity?
  /// The reason why the file can't be made again that was reported.
  private var reportedError: SystemError?
  private var timer: (any LoopTimer)?

  /// Notes the file that is there. May be called on any thread.
  ///
  /// - Parameters:
  ///   - path: Its path.
  ///   - span: How often it is looked for. A look costs a microsecond.
  ///   - makeAgain: Listens at the path again.
  ///   - onResult: Called when the server listens again, and with the reason why it can't, once for each reason.
  package init(
    _ path: String, span: TimeSpan,
    makeAgain: @escaping () throws(SystemError) -> Void,
    onResult: @escaping (SystemError?) -> Void
  ) {
    self.path = path
    self.span = span
    self.makeAgain = makeAgain
    self.onResult = onResult
    identity = UNIXSocketFile.Identity(at: path)
  }

  /// Begins to look for the file.
  package func start(on loop: EpollLoop) {
    timer = loop.makeTimer { [weak self] in self?.look() }
    timer?.set(.now + span)
  }

  /// Stops looking, and removes the file unless the path names another one by now.
  package func close() {
    timer?.cancel()
    timer = nil
    if let identity { UNIXSocketFile.remove(path, if: identity) }
    // Only once: the number of the file may be that of another server's by the next time.
    identity = nil
  }

  private func look() {
    if identity == nil || UNIXSocketFile.Identity(at: path) != identity { listenAgain() }
    timer?.set(.now + span)
  }

  private func listenAgain() {
    do throws(SystemError) {
      try makeAgain()
      identity = UNIXSocketFile.Identity(at: path)
      reportedError = nil
      onResult(nil)
    } catch {
      // It is tried again, and the same reason is not reported each time.
      if error != reportedError { onResult(error) }
      reportedError = error
    }
  }
}
