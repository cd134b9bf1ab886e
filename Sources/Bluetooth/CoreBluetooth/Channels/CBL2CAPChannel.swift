internal import BluetoothMachines

/// A connection-oriented channel: two streams.
///
/// Open the streams, schedule them in a run loop to have their delegates called, or read and write
/// directly. The channel closes when both streams are closed or the app lets go of it.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
  // Unchecked: all stored properties are constants; the streams have their own locks.

  private let peerStorage: CBPeer
  private let pipe: ChannelPipe
  private let input: ChannelInputStream
  private let output: ChannelOutputStream

  init(peer: CBPeer, pipe: ChannelPipe) {
    peerStorage = peer
    self.pipe = pipe
    let ends = ChannelEnds(pipe: pipe)
    input = ChannelInputStream(pipe: pipe, ends: ends)
    output = ChannelOutputStream(pipe: pipe, ends: ends)
    super.init()
  }

  deinit { pipe.close() }

  /// The other end.
  open var peer: CBPeer! { peerStorage }
  /// What the peer sends.
  open var inputStream: InputStream! { input }
  /// What is sent to the peer.
  open var outputStream: OutputStream! { output }
  /// The number on which the channel was opened.
  open var psm: CBL2CAPPSM { pipe.info.psm }
}
