import Foundation
import Reactive
import ReactiveFoundation
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Notifications")
struct NotificationTests {
  private static let doorbell = Notification.Name("doorbell")

  @Test("notifications are sent when they are posted, by name and by object")
  func posting() {
    let center = NotificationCenter()
    let (door, gate) = (NSObject(), NSObject())
    let all = Counter()
    let ofDoor = Counter()
    center.reactive.notifications(forName: Self.doorbell).observeValues { _ in all.increment() }
    center.reactive.notifications(forName: Self.doorbell, object: door)
      .observeValues { _ in ofDoor.increment() }
    center.post(name: Self.doorbell, object: door)
    center.post(name: Self.doorbell, object: gate)
    center.post(name: Notification.Name("another"), object: door)
    #expect(all.value == 2)
    #expect(ofDoor.value == 1)
  }

  @Test("notifications are no longer observed by the centre when no run observes")
  func disposal() {
    let center = NotificationCenter()
    let heard = Counter()
    let observation = center.reactive.notifications(forName: Self.doorbell)
      .observeValues { _ in heard.increment() }
    observation?.dispose()
    center.post(name: Self.doorbell, object: nil)
    #expect(heard.value == 0)
  }

  @Test("notifications don't keep what the observer captured after it is disposed of")
  func release() {
    let center = NotificationCenter()
    var observation: (any Disposable)?
    weak let counter: Counter? = {
      let counter = Counter()
      observation = center.reactive.notifications(forName: Self.doorbell)
        .observeValues { _ in counter.increment() }
      return counter
    }()
    center.post(name: Self.doorbell, object: nil)
    #expect(counter?.value == 1)
    observation?.dispose()
    #expect(counter == nil)
  }
}

@Suite("Requests")
struct RequestTests {
  private let session: URLSession = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [CannedProtocol.self]
    return URLSession(configuration: configuration)
  }()

  private func request(_ address: String) throws -> URLRequest {
    URLRequest(url: try #require(URL(string: address)))
  }

  @Test("a request sends the response, of any status, and completes")
  func response() throws {
    let result = session.reactive.data(with: try request("canned://404/lost")).single()
    let (data, response) = try #require(result).get()
    #expect(String(decoding: data, as: UTF8.self) == "/lost")
    #expect((response as? HTTPURLResponse)?.statusCode == 404)
  }

  @Test("a request fails when there is no response")
  func failure() throws {
    let result = session.reactive.data(with: try request("canned://refused/")).single()
    let error = #expect(throws: URLError.self) { try #require(result).get() }
    #expect(error?.code == .cannotConnectToHost)
  }

  @Test("a request is cancelled when the run is disposed of")
  func cancellation() async throws {
    let interrupted = Expectation()
    let run = session.reactive.data(with: try request("canned://never/"))
      .startWithInterrupted { interrupted.fulfill() }
    run.dispose()
    await interrupted.wait()
  }
}

/// Answers requests without a network: the host is the status.
private final class CannedProtocol: URLProtocol {
  override static func canInit(with request: URLRequest) -> Bool {
    request.url?.scheme == "canned"
  }

  override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url, url.host() != "never" else { return }
    guard let status = url.host().flatMap({ Int($0) }),
      let response = HTTPURLResponse(
        url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: nil)
    else {
      client?.urlProtocol(self, didFailWithError: URLError(.cannotConnectToHost))
      return
    }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data(url.path().utf8))
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}
