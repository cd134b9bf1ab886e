#if SecureConnections
  import BluetoothMachines
  import BluetoothWire
  import CLibcrypto

  /// Multiplication of points on the curve P-256, by libcrypto.
  enum P256 {
    /// `NID_X9_62_prime256v1`, the number of the curve in libcrypto.
    private static let curveNID: CInt = 415
    /// `BN_FLG_CONSTTIME`: the time of a computation doesn't depend on the number.
    private static let constantTime: CInt = 4
    /// `POINT_CONVERSION_UNCOMPRESSED`: the octet 4, then both coordinates (SEC 1, §2.3.3).
    private static let uncompressedForm: CUnsignedInt = 4
    private static let uncompressedByteCount = 65

    /// Multiplies a point, or the generator for nil, by a private key, in constant time.
    ///
    /// - Returns: The product; nil if the private key isn't between 1 and the group's order, or if a
    ///   coordinate of the point isn't below the field's order, or if the point isn't on the curve.
    static func multiply(_ privateKey: SMPCoordinate, _ point: PublicKey?) -> PublicKey? {
      // Rejected numbers and points leave entries in the thread's error queue.
      defer { ERR_clear_error() }
      guard let group = unsafe EC_GROUP_new_by_curve_name(curveNID) else { return nil }
      defer { unsafe EC_GROUP_free(group) }
      guard let scalar = unsafe scalar(privateKey, in: group) else { return nil }
      defer { unsafe BN_clear_free(scalar) }
      guard let product = unsafe EC_POINT_new(group) else { return nil }
      defer { unsafe EC_POINT_clear_free(product) }
      if let point {
        guard let factor = unsafe self.point(point, in: group) else { return nil }
        defer { unsafe EC_POINT_clear_free(factor) }
        guard unsafe EC_POINT_mul(group, product, nil, factor, scalar, nil) == 1 else {
          return nil
        }
      } else {
        guard unsafe EC_POINT_mul(group, product, scalar, nil, nil, nil) == 1 else { return nil }
      }
      return unsafe publicKey(product, in: group)
    }

    /// The caller frees the result.
    private static func scalar(_ key: SMPCoordinate, in group: OpaquePointer) -> OpaquePointer? {
      var bytes = key.bytes
      defer { overwrite(&bytes) }
      guard let scalar = unsafe BN_bin2bn(bytes, CInt(bytes.count), nil) else { return nil }
      guard unsafe BN_is_zero(scalar) == 0, unsafe BN_cmp(scalar, EC_GROUP_get0_order(group)) < 0
      else {
        unsafe BN_clear_free(scalar)
        return nil
      }
      unsafe BN_set_flags(scalar, constantTime)
      return unsafe scalar
    }

    /// The caller frees the result.
    private static func point(_ key: PublicKey, in group: OpaquePointer) -> OpaquePointer? {
      let octets = [UInt8(uncompressedForm)] + key.x.bytes + key.y.bytes
      guard let point = unsafe EC_POINT_new(group) else { return nil }
      guard unsafe EC_POINT_oct2point(group, point, octets, octets.count, nil) == 1 else {
        unsafe EC_POINT_clear_free(point)
        return nil
      }
      return unsafe point
    }

    private static func publicKey(_ point: OpaquePointer, in group: OpaquePointer) -> PublicKey? {
      var octets = [UInt8](repeating: 0, count: uncompressedByteCount)
      defer { overwrite(&octets) }
      // Infinity has one octet.
      let count = unsafe EC_POINT_point2oct(
        group, point, uncompressedForm, &octets, octets.count, nil)
      guard count == octets.count, let x = SMPCoordinate(octets[1..<33]),
        let y = SMPCoordinate(octets[33...])
      else { return nil }
      return PublicKey(x: x, y: y)
    }
  }
#endif
