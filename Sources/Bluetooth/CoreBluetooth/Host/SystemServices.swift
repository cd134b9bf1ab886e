internal import BluetoothWire

/// Services that the host has itself and uses at its peers: Generic Access and Generic Attribute
/// (Core 5.4, Vol 3, Part C, §12 and Part G, §7).
///
/// Apps don't publish them, and don't find them at a peripheral: Apple's Accessory Design
/// Guidelines (§40.13) list them among those that are filtered out. The guidelines' others, HID and
/// the Apple Notification Center Service, the host doesn't use, so apps may.
enum SystemServices {
  static let uuids: Set<BluetoothUUID> = [0x1800, 0x1801]
}
