package import AppMachines
package import InfoPlists

extension InfoPlist {
  /// The same for the machine of apps.
  package var description: AppDescription {
    var modes: BackgroundModes = []
    for name in backgroundModes {
      switch name {
      case "bluetooth-central": modes.insert(.bluetoothCentral)
      case "bluetooth-peripheral": modes.insert(.bluetoothPeripheral)
      case "location": modes.insert(.location)
      case "voip": modes.insert(.voip)
      case "fetch": modes.insert(.fetch)
      case "remote-notification": modes.insert(.remoteNotification)
      case "processing": modes.insert(.processing)
      // Accepted: audio, external-accessory, and those of later systems.
      default: break
      }
    }
    return AppDescription(
      modes: modes, hasScenes: sceneManifest != nil, exitsOnSuspend: exitsOnSuspend)
  }
}
