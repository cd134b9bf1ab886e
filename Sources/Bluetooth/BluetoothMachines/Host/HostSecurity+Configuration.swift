import PairingMachines

extension HostSecurity {
  init(_ configuration: HostConfiguration, secrets: SecretGenerator) {
    self.init(
      policy: configuration.pairingPolicy, keyByteCountMin: configuration.keyByteCountMin,
      canUseSecureConnections: configuration.hasKeyAgreement,
      requiresSecureConnections: configuration.requiresSecureConnections,
      requiresAuthentication: configuration.requiresAuthentication,
      acceptsDebugKeys: configuration.acceptsDebugKeys,
      bondReplacement: configuration.bondReplacement,
      usesPrivateAddress: configuration.usesPrivateAddress, secrets: secrets)
  }
}
