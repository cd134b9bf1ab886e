import BluetoothInterface
import BluetoothWire
import Essentials

/// Writes a characteristic's client characteristic configuration, after finding the descriptor where
/// its handle isn't known (Core 5.4, Vol 3, Part G, §4.7.1 and §4.12.3).
///
/// Finding and writing are one procedure, so that no operation that was asked for later comes
/// between.
struct WriteConfiguration: GATTProcedure {
  private let target: SubscriptionTarget
  private let bits: UInt8
  private var search: DiscoverDescriptors
  private var handle: UInt16?

  init(_ target: SubscriptionTarget, handle: UInt16?, bits: UInt8) {
    self.target = target
    self.bits = bits
    self.handle = handle
    search = DiscoverDescriptors(
      HandleRange(after: target.valueHandle, through: target.endHandle))
  }

  mutating func start(mtu: Int) -> GATTStep {
    handle == nil ? found(search.start(mtu: mtu)) : write
  }

  private var write: GATTStep {
    guard let handle else {
      return .failed(.att(.attributeNotFound, handle: target.valueHandle))
    }
    return .request(.writeRequest(handle: handle, value: [bits, 0]))
  }

  private mutating func found(_ step: GATTStep) -> GATTStep {
    guard case .done(.descriptors(let descriptors)) = step else { return step }
    handle = descriptors.first { $0.uuid == 0x2902 }?.handle
    return write
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    guard let handle else { return found(search.received(response, mtu: mtu)) }
    guard case .writeResponse = response else { return .unusable(response) }
    return .configured(handle)
  }
}
