public import Foundation
public import Reactive

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension URLSession: ReactiveExtensionsProvider {}

extension Reactive where Base: URLSession {
  /// Sends `request` at every start, and produces the body and the head of the response.
  ///
  /// A response with any status is a value; it fails only if there is no response. Interrupting a
  /// run cancels its task. Events are sent on the session's delegate queue.
  public func data(
    with request: URLRequest
  ) -> SignalProducer<(Data, URLResponse), any Error> {
    let session: URLSession = base
    return SignalProducer { observer, lifetime in
      let task = session.dataTask(with: request) { data, response, error in
        if let data, let response {
          observer.send(value: (data, response))
          observer.sendCompleted()
        } else {
          observer.send(error: error ?? URLError(.unknown))
        }
      }
      lifetime.observeEnded { task.cancel() }
      task.resume()
    }
  }
}
