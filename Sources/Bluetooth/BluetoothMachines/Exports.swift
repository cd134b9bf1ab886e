// Users of a host's machines import one module. It has parts because one compiler process would take 60 s
// (docs/decisions/0302-the-machines-of-a-host-are-four-modules.md).
@_exported public import GATTMachines
@_exported public import L2CAPMachines
@_exported public import PairingMachines
