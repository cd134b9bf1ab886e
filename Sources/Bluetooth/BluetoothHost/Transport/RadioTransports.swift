import BluetoothMachines
import NIOCore

extension RadioChoice {
  /// A fresh attempt at the way to this radio's controller.
  func makeTransport(on eventLoop: any EventLoop) -> any HCITransport {
    UnavailableTransport(.unsupported("The radio \(self) cannot be used."))
  }
}
