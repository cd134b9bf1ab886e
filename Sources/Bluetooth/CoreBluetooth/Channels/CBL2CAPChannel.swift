internal import BluetoothInterface
internal import RunLoopSupport

/// A connection-oriented channel: two streams.
///
/// Open the streams, schedule them in a run loop to have their delegates called, or read and write
/// directly. The channel closes when both streams are closed or the app lets go of it.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
  // Unchecked: all stored properties are constants; the streams have their own locks.

  private let peerStorage: CBPeer
  private let pipe: ChannelPipe
  private let input: InputStream
  private let output: OutputStream

  init(peer: CBPeer, pipe: ChannelPipe) {
    peerStorage = peer
    self.pipe = pipe
    (input, output) = PipeStreams.pair(pipe)
    super.init()
  }

  deinit { pipe.close() }

  /// The other end.
  open var peer: CBPeer! { peerStorage }
  /// The bytes from the peer.
  open var inputStream: InputStream! { input }
  /// The bytes to the peer.
  open var outputStream: OutputStream! { output }
  /// The number on which the channel was opened.
  open var psm: CBL2CAPPSM { pipe.info.psm }
}

// Access to the channel without the streams and their run loop, for bridges to other APIs.
extension CBL2CAPChannel {
  /// Calls this on the manager's queue when bytes arrived, when there is space again, and when the
  /// channel ended; nil removes the observer. There is one observer.
  package func observeChanges(_ call: (@Sendable () -> Void)?) { pipe.observeChanges(call) }

  /// Runs something on the manager's queue.
  package func enqueue(_ work: @escaping @Sendable () -> Void) { pipe.enqueue(work) }

  /// Takes received bytes, up to this number; empty if there are none. Bytes that are not taken
  /// hold the peer back.
  package func receive(byteCountMax: Int) -> Data {
    pipe.hasBytes ? Data(pipe.read(byteCountMax)) : Data()
  }

  /// Whether bytes can be sent now.
  package var hasSpace: Bool { pipe.hasSpace }

  /// Sends as much of the bytes as there is room for. Waits only where another thread takes the room.
  ///
  /// - Returns: How many bytes there was room for; 0 when the channel has ended.
  package func send(_ bytes: Data) -> Int {
    Array(bytes).withUnsafeBufferPointer { pipe.write($0) }
  }

  /// How the channel ended; nil while it lives.
  package var ending: Result<Void, CBError>? {
    switch pipe.ending {
    case nil: nil
    case .closed: .success(())
    case .failed(let error): .failure(error as? CBError ?? CBError(.unknown))
    }
  }
}

extension Stream.PropertyKey {
  /// How many bytes of a channel's output stream wait to be sent, as an `NSNumber`: closing the
  /// channel earlier loses them. Not part of Apple's interface.
  public static let unsentByteCountKey = unsentPipeByteCountKey
}
