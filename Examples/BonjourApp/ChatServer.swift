import Bonjour
import Foundation

/// Announces a chat room and answers every client.
class ChatServer: NSObject {
  private var service: NetService?
  private var streams = [Stream]()

  var onPublished: ((String) -> Void)?
  var onError: (([String: NSNumber]) -> Void)?
  var onMessage: ((String) -> Void)?

  func start(roomName: String, type: String) {
    let service = NetService(domain: "local.", type: type, name: roomName, port: 0)
    service.delegate = self
    service.includesPeerToPeer = true
    let txt = NetService.data(fromTXTRecord: ["version": Data("1".utf8)])
    if !service.setTXTRecord(txt) {
      NSLog("could not set the TXT record")
    }
    service.schedule(in: RunLoop.current, forMode: RunLoop.Mode.common)
    service.publish(options: [.listenForConnections])
    self.service = service
  }

  func stop() {
    streams.forEach { $0.close() }
    streams.removeAll()
    service?.stop()
  }
}

extension ChatServer: NetServiceDelegate {
  func netServiceDidPublish(_ sender: NetService) {
    onPublished?(sender.name)
  }

  func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
    onError?(errorDict)
  }

  func netService(
    _ sender: NetService, didAcceptConnectionWith inputStream: InputStream,
    outputStream: OutputStream
  ) {
    for stream in [inputStream, outputStream] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .current, forMode: .default)
      stream.open()
      streams.append(stream)
    }
  }
}

extension ChatServer: StreamDelegate {
  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .hasBytesAvailable:
      guard let input = aStream as? InputStream else { return }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = input.read(&buffer, maxLength: buffer.count)
      if count > 0, let text = String(bytes: buffer[0..<count], encoding: .utf8) {
        onMessage?(text)
      }
    case .endEncountered, .errorOccurred:
      aStream.close()
      aStream.remove(from: .current, forMode: .default)
      streams.removeAll { $0 == aStream }
    default:
      break
    }
  }
}
