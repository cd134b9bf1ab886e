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

  /// One for all requests, and for the whole life of the process: Foundation on Linux may trap when a
  /// session that has connections is released (swift-corelibs-foundation, issue 5203).
  private static let session: URLSession = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.httpMaximumConnectionsPerHost = 64
    return URLSession(configuration: configuration, delegate: transfers, delegateQueue: nil)
  }()
  private static let transfers = Transfers()

  /// The answer to a request for an address. Cancelling the task ends the request.
  ///
  /// - Parameter byteCountMax: Of a longer one nothing more is read.
  @concurrent
  func get(_ url: URL, byteCountMax: Int) async throws(Failure) -> Answer {
    let transfer = Transfer(byteCountMax: byteCountMax)
    let task = Self.session.dataTask(with: URLRequest(url: url, timeoutInterval: timeMax))
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
  private final class Transfer: Sendable {
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
      // Before a cancellation can complete it.
      HTTPClient.transfers.add(self, for: task)
      let ended = state.withLock { state in
        if state.result == nil { state.continuation = continuation }
        return state.result
      }
      // It may have been cancelled before it began.
      if let ended {
        HTTPClient.transfers.remove(task)
        return continuation.resume(returning: ended)
      }
      task.resume()
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

    /// Whether the body is to be read.
    func received(_ response: URLResponse, _ task: URLSessionTask) -> Bool {
      state.withLock { $0.status = (response as? HTTPURLResponse)?.statusCode ?? 0 }
      // Cancel before the body: after a later cancellation the session keeps data for some
      // milliseconds.
      let isTooLarge = response.expectedContentLength > Int64(byteCountMax)
      if isTooLarge { end(.failure(.tooLarge), task) }
      return !isTooLarge
    }

    func received(_ data: Data, _ task: URLSessionTask) {
      let isTooLarge = state.withLock { state in
        guard state.body.count + data.count <= byteCountMax else { return true }
        state.body += data
        return false
      }
      if isTooLarge { end(.failure(.tooLarge), task) }
    }

    func completed(_ error: (any Error)?, _ task: URLSessionTask) {
      let result: Result<Answer, Failure> = state.withLock { state in
        if let error {
          return .failure((error as? URLError)?.code == .timedOut ? .noAnswer : .unreachable)
        }
        return .success(Answer(status: state.status, body: state.body))
      }
      end(result, task)
    }
  }

  /// The transfers of a session, by their tasks, until they are completed.
  private final class Transfers: NSObject, URLSessionDataDelegate, Sendable {
    private let transfers = Mutex<[Int: Transfer]>([:])

    func add(_ transfer: Transfer, for task: URLSessionTask) {
      transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    func remove(_ task: URLSessionTask) {
      transfers.withLock { $0[task.taskIdentifier] = nil }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
      transfers.withLock { $0[task.taskIdentifier] }
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
      let isWanted = transfer(of: dataTask)?.received(response, dataTask) ?? false
      completionHandler(isWanted ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      transfer(of: dataTask)?.received(data, dataTask)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
      transfer?.completed(error, task)
    }
  }
}
