import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests to a server that may be slow, silent, or send too much.
///
/// It keeps neither cookies nor a cache, and follows no redirections.
struct HTTPClient: Sendable {
  enum Failure: Error, Equatable {
    case noAnswer
    case unreachable
    case tooLarge
  }

  struct Answer: Sendable {
    var status: Int
    var body: [UInt8]
  }

  /// Seconds, for a whole answer.
  var timeMax = 10.0

  /// The answer to a request for an address. Cancelling the task ends the request.
  ///
  /// - Parameter byteCountMax: Of a longer one nothing more is read.
  @concurrent
  func get(_ url: URL, byteCountMax: Int) async throws(Failure) -> Answer {
    let transfer = Transfer(byteCountMax: byteCountMax)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.timeoutIntervalForRequest = timeMax
    let session = URLSession(configuration: configuration, delegate: transfer, delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    let task = session.dataTask(with: url)
    // A server that sends a byte now and then has no time of its own.
    let deadline = DispatchWorkItem { transfer.end(.failure(.noAnswer), task) }
    DispatchQueue.global().asyncAfter(deadline: .now() + timeMax, execute: deadline)
    defer { deadline.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in transfer.begin(task, continuation) }
    } onCancel: {
      transfer.end(.failure(.noAnswer), task)
    }
    return try result.get()
  }

  /// The result of one request. Used by the session's queue and by the waiting task, under a lock.
  private final class Transfer: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
      var status = 0
      var body: [UInt8] = []
      var result: Result<Answer, Failure>?
      var continuation: CheckedContinuation<Result<Answer, Failure>, Never>?
    }

    private let byteCountMax: Int
    private let state = Mutex(State())

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    func begin(
      _ task: URLSessionDataTask,
      _ continuation: CheckedContinuation<Result<Answer, Failure>, Never>
    ) {
      let ended = state.withLock { state in
        if state.result == nil { state.continuation = continuation }
        return state.result
      }
      // It may have been cancelled before it began.
      if let ended { continuation.resume(returning: ended) } else { task.resume() }
    }

    /// The first result counts.
    func end(_ result: Result<Answer, Failure>, _ task: URLSessionTask) {
      let continuation = state.withLock { state in
        if state.result == nil { state.result = result }
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(returning: result)
      task.cancel()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      state.withLock { $0.status = (response as? HTTPURLResponse)?.statusCode ?? 0 }
      // Cancel before the body: after a later cancellation the session keeps data for some
      // milliseconds.
      let isTooLarge = response.expectedContentLength > Int64(byteCountMax)
      completionHandler(isTooLarge ? .cancel : .allow)
      if isTooLarge { end(.failure(.tooLarge), dataTask) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      let isTooLarge = state.withLock { state in
        guard state.body.count + data.count <= byteCountMax else { return true }
        state.body += data
        return false
      }
      if isTooLarge { end(.failure(.tooLarge), dataTask) }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      let result: Result<Answer, Failure> = state.withLock { state in
        if let error {
          return .failure((error as? URLError)?.code == .timedOut ? .noAnswer : .unreachable)
        }
        return .success(Answer(status: state.status, body: state.body))
      }
      end(result, task)
    }
  }
}
