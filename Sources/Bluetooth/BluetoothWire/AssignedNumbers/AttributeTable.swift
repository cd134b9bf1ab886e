// Table of facts: names of services, characteristics and descriptors.
// Source: Assigned Numbers, Bluetooth SIG.
// One row a line, sorted by key; `AssignedNumberTable` searches it where it lies.

extension AssignedNumbers {
  /// Services with a 16-bit UUID; from `FC00` on named after the member they belong to.
  static let serviceRows = #"""
    1800 Generic Access
    1801 Generic Attribute
    1802 Immediate Alert
    1803 Link Loss
    1804 TX Power
    1805 Current Time
    1806 Reference Time Update
    1807 Next DST Change
    1808 Glucose
    1809 Health Thermometer
    180A Device Information
    180D Heart Rate
    180E Phone Alert Status
    180F Battery
    1810 Blood Pressure
    1811 Alert Notification
    1812 Human Interface Device
    1813 Scan Parameters
    1814 Running Speed and Cadence
    1815 Automation IO
    1816 Cycling Speed and Cadence
    1818 Cycling Power
    1819 Location and Navigation
    181A Environmental Sensing
    181B Body Composition
    181C User Data
    181D Weight Scale
    181E Bond Management
    181F Continuous Glucose Monitoring
    1820 Internet Protocol Support
    1821 Indoor Positioning
    1822 Pulse Oximeter
    1823 HTTP Proxy
    1824 Transport Discovery
    1825 Object Transfer
    1826 Fitness Machine
    1827 Mesh Provisioning
    1828 Mesh Proxy
    1829 Reconnection Configuration
    183A Insulin Delivery
    183B Binary Sensor
    183C Emergency Configuration
    183D Authorization Control
    183E Physical Activity Monitor
    183F Elapsed Time
    1840 Generic Health Sensor
    1843 Audio Input Control
    1844 Volume Control
    1845 Volume Offset Control
    1846 Coordinated Set Identification
    1847 Device Time
    1848 Media Control
    1849 Generic Media Control
    184A Constant Tone Extension
    184B Telephone Bearer
    184C Generic Telephone Bearer
    184D Microphone Control
    184E Audio Stream Control
    184F Broadcast Audio Scan
    1850 Published Audio Capabilities
    1851 Basic Audio Announcement
    1852 Broadcast Audio Announcement
    1853 Common Audio
    1854 Hearing Access
    1855 Telephony and Media Audio
    1856 Public Broadcast Announcement
    1858 Gaming Audio
    1859 Mesh Audio Solicitation
    FC75 Xiaomi Inc.
    FC76 Weber-Stephen Products LLC
    FC77 SING SUN TECHNOLOGY (INTERNATIONAL) LIMITED
    FC78 DHL
    FC79 LG Electronics Inc.
    FC7A Outshiny India Private Limited
    FC7B Testo SE & Co. KGaA
    FC7C Motorola Mobility, LLC
    FC7D MML US, Inc
    FC7E Harman International
    FC7F Southco
    FC80 TELE System Communications Pte. Ltd.
    FC81 Axon Enterprise, Inc.
    FC82 Zwift, Inc.
    FC83 iHealth Labs, Inc.
    FC84 NINGBO FOTILE KITCHENWARE CO., LTD.
    FC85 Zhejiang Huanfu Technology Co., LTD
    FC86 Samsara Networks, Inc
    FC87 Samsara Networks, Inc
    FC88 CCC del Uruguay
    FC89 Intel Corporation
    FC8A Intel Corporation
    FC8B Kaspersky Lab Middle East FZ-LLC
    FC8C SES-Imagotag
    FC8D Caire Inc.
    FC8E Blue Iris Labs, Inc.
    FC8F Bose Corporation
    FC90 Wiliot LTD.
    FC91 Samsung Electronics Co., Ltd.
    FC92 Furuno Electric Co., Ltd.
    FC93 Komatsu Ltd.
    FC94 Apple Inc.
    FC95 Hippo Camp Software Ltd.
    FC96 LEGO System A/S
    FC97 Japan Display Inc.
    FC98 Ruuvi Innovations Ltd.
    FC99 Badger Meter
    FC9A Plockat Solutions AB
    FC9B Merry Electronics (S) Pte Ltd
    FC9C Binary Power, Inc.
    FC9D Lenovo (Singapore) Pte Ltd.
    FC9E Dell Computer Corporation
    FC9F Delta Development Team, Inc
    FCA0 Apple Inc.
    FCA1 PF SCHWEISSTECHNOLOGIE GMBH
    FCA2 Meizu Technology Co., Ltd.
    FCA3 Gunnebo Aktiebolag
    FCA4 HP Inc.
    FCA5 HAYWARD INDUSTRIES, INC.
    FCA6 Hubble Network Inc.
    FCA7 Hubble Network Inc.
    FCA8 Medtronic Inc.
    FCA9 Medtronic Inc.
    FCAA Spintly, Inc.
    FCAB IRISS INC.
    FCAC IRISS INC.
    FCAD Beijing 99help Safety Technology Co., Ltd
    FCAE Imagine Marketing Limited
    FCAF AltoBeam Inc.
    FCB0 Ford Motor Company
    FCB1 Google LLC
    FCB2 Apple Inc.
    FCB3 SWEEN
    FCB4 OMRON HEALTHCARE Co., Ltd.
    FCB5 OMRON HEALTHCARE Co., Ltd.
    FCB6 OMRON HEALTHCARE Co., Ltd.
    FCB7 T-Mobile USA
    FCB8 Ribbiot, INC.
    FCB9 Lumi United Technology Co., Ltd
    FCBA BlueID GmbH
    FCBB SharkNinja Operating LLC
    FCBC Drowsy Digital, Inc.
    FCBD Toshiba Corporation
    FCBE Musen Connect, Inc.
    FCBF ASSA ABLOY Opening Solutions Sweden AB
    FCC0 Xiaomi Inc.
    FCC1 TIMECODE SYSTEMS LIMITED
    FCC2 Qualcomm Technologies, Inc.
    FCC3 HP Inc.
    FCC4 OMRON(DALIAN) CO,.LTD.
    FCC5 OMRON(DALIAN) CO,.LTD.
    FCC6 Wiliot LTD.
    FCC7 PB INC.
    FCC8 Allthenticate, Inc.
    FCC9 SkyHawke Technologies
    FCCA Cosmed s.r.l.
    FCCB TOTO LTD.
    FCCC Wi-Fi Easy Connect Specification
    FCCD Zound Industries International AB
    FCCE Luna Health, Inc.
    FCCF Google LLC
    FCD0 Laerdal Medical AS
    FCD1 Shenzhen Benwei Media Co.,Ltd.
    FCD2 Allterco Robotics ltd
    FCD3 Fisher & Paykel Healthcare
    FCD4 OMRON HEALTHCARE
    FCD5 Nortek Security & Control
    FCD6 SWISSINNO SOLUTIONS AG
    FCD7 PowerPal Pty Ltd
    FCD8 Appex Factory S.L.
    FCD9 Huso, INC
    FCDA Draeger
    FCDB aconno GmbH
    FCDC Amazon.com Services, LLC
    FCDD Mobilaris AB
    FCDE ARCTOP, INC.
    FCDF NIO USA, Inc.
    FCE0 Akciju sabiedriba "SAF TEHNIKA"
    FCE1 Sony Group Corporation
    FCE2 Baracoda Daily Healthtech
    FCE3 Smith & Nephew Medical Limited
    FCE4 Samsara Networks, Inc
    FCE5 Samsara Networks, Inc
    FCE6 Guard RFID Solutions Inc.
    FCE7 TKH Security B.V.
    FCE8 ITT Industries
    FCE9 MindRhythm, Inc.
    FCEA Chess Wise B.V.
    FCEB Avi-On
    FCEC Griffwerk GmbH
    FCED Workaround Gmbh
    FCEE Velentium, LLC
    FCEF Divesoft s.r.o.
    FCF0 Security Enhancement Systems, LLC
    FCF1 Google LLC
    FCF2 Bitwards Oy
    FCF3 Armatura LLC
    FCF4 Allegion
    FCF5 Trident Communication Technology, LLC
    FCF6 The Linux Foundation
    FCF7 Honor Device Co., Ltd.
    FCF8 Honor Device Co., Ltd.
    FCF9 Leupold & Stevens, Inc.
    FCFA Leupold & Stevens, Inc.
    FCFB Shenzhen Benwei Media Co., Ltd.
    FCFC Barrot Technology Co.,Ltd.
    FCFD Barrot Technology Co.,Ltd.
    FCFE Sonova Consumer Hearing GmbH
    FCFF 701x
    FD00 FUTEK Advanced Sensor Technology, Inc.
    FD01 Sanvita Medical Corporation
    FD02 LEGO System A/S
    FD03 Quuppa Oy
    FD04 Shure Inc.
    FD05 Qualcomm Technologies, Inc.
    FD06 RACE-AI LLC
    FD07 Swedlock AB
    FD08 Bull Group Incorporated Company
    FD09 Cousins and Sears LLC
    FD0A Luminostics, Inc.
    FD0B Luminostics, Inc.
    FD0C OSM HK Limited
    FD0D Blecon Ltd
    FD0E HerdDogg, Inc
    FD0F AEON MOTOR CO.,LTD.
    FD10 AEON MOTOR CO.,LTD.
    FD11 AEON MOTOR CO.,LTD.
    FD12 AEON MOTOR CO.,LTD.
    FD13 BRG Sports, Inc.
    FD14 BRG Sports, Inc.
    FD15 Panasonic Corporation
    FD16 Sensitech, Inc.
    FD17 LEGIC Identsystems AG
    FD18 LEGIC Identsystems AG
    FD19 Smith & Nephew Medical Limited
    FD1A CSIRO
    FD1B Helios Sports, Inc.
    FD1C Brady Worldwide Inc.
    FD1D Samsung Electronics Co., Ltd
    FD1E Plume Design Inc.
    FD1F 3M
    FD20 GN Hearing A/S
    FD21 Huawei Technologies Co., Ltd.
    FD22 Huawei Technologies Co., Ltd.
    FD23 DOM Sicherheitstechnik GmbH & Co. KG
    FD24 GD Midea Air-Conditioning Equipment Co., Ltd.
    FD25 GD Midea Air-Conditioning Equipment Co., Ltd.
    FD26 Novo Nordisk A/S
    FD27 Integrated Illumination Systems, Inc.
    FD28 Julius Blum GmbH
    FD29 Asahi Kasei Corporation
    FD2A Sony Corporation
    FD2B The Access Technologies
    FD2C The Access Technologies
    FD2D Xiaomi Inc.
    FD2E Bitstrata Systems Inc.
    FD2F Bitstrata Systems Inc.
    FD30 Sesam Solutions BV
    FD31 LG Electronics Inc.
    FD32 Gemalto Holding BV
    FD33 DashLogic, Inc.
    FD34 Aerosens LLC.
    FD35 Transsion Holdings Limited
    FD36 Google LLC
    FD37 TireCheck GmbH
    FD38 Danfoss A/S
    FD39 PREDIKTAS
    FD3A Verkada Inc.
    FD3B Verkada Inc.
    FD3C Redline Communications Inc.
    FD3D Woan Technology (Shenzhen) Co., Ltd.
    FD3E Pure Watercraft, inc.
    FD3F Cognosos, Inc
    FD40 Beflex Inc.
    FD41 Amazon Lab126
    FD42 Globe (Jiangsu) Co.,Ltd
    FD43 Apple Inc.
    FD44 Apple Inc.
    FD45 GB Solution co.,Ltd
    FD46 Lemco IKE
    FD47 Liberty Global Inc.
    FD48 Geberit International AG
    FD49 Panasonic Corporation
    FD4A Sigma Elektro GmbH
    FD4B Samsung Electronics Co., Ltd.
    FD4C Adolf Wuerth GmbH & Co KG
    FD4D 70mai Co.,Ltd.
    FD4E 70mai Co.,Ltd.
    FD4F SONITOR TECHNOLOGIES AS
    FD50 Hangzhou Tuya Information Technology Co., Ltd
    FD51 UTC Fire and Security
    FD52 UTC Fire and Security
    FD53 PCI Private Limited
    FD54 Qingdao Haier Technology Co., Ltd.
    FD55 Braveheart Wireless, Inc.
    FD56 Resmed Ltd
    FD57 Volvo Car Corporation
    FD58 Volvo Car Corporation
    FD59 Samsung Electronics Co., Ltd.
    FD5A Samsung Electronics Co., Ltd.
    FD5B V2SOFT INC.
    FD5C React Mobile
    FD5D maxon motor ltd.
    FD5E Tapkey GmbH
    FD5F Meta Platforms Technologies, LLC
    FD60 Sercomm Corporation
    FD61 Arendi AG
    FD62 Google LLC
    FD63 Google LLC
    FD64 INRIA
    FD65 Razer Inc.
    FD66 Zebra Technologies Corporation
    FD67 Montblanc Simplo GmbH
    FD68 Ubique Innovation AG
    FD69 Samsung Electronics Co., Ltd
    FD6A Emerson
    FD6B rapitag GmbH
    FD6C Samsung Electronics Co., Ltd.
    FD6D Sigma Elektro GmbH
    FD6E Polidea sp. z o.o.
    FD6F Apple, Inc.
    FD70 GuangDong Oppo Mobile Telecommunications Corp., Ltd
    FD71 GN Hearing A/S
    FD72 Logitech International SA
    FD73 BRControls Products BV
    FD74 BRControls Products BV
    FD75 Insulet Corporation
    FD76 Insulet Corporation
    FD77 Withings
    FD78 Withings
    FD79 Withings
    FD7A Withings
    FD7B WYZE LABS, INC.
    FD7C Toshiba Information Systems(Japan) Corporation
    FD7D Center for Advanced Research Wernher Von Braun
    FD7E Samsung Electronics Co., Ltd.
    FD7F Husqvarna AB
    FD80 Phindex Technologies, Inc
    FD81 CANDY HOUSE, Inc.
    FD82 Sony Corporation
    FD83 iNFORM Technology GmbH
    FD84 Tile, Inc.
    FD85 Husqvarna AB
    FD86 Abbott
    FD87 Google LLC
    FD88 Urbanminded LTD
    FD89 Urbanminded LTD
    FD8A Signify Netherlands B.V.
    FD8B Jigowatts Inc.
    FD8C Google LLC
    FD8D quip NYC Inc.
    FD8E Motorola Solutions
    FD8F Matrix ComSec Pvt. Ltd.
    FD90 Guangzhou SuperSound Information Technology Co.,Ltd
    FD91 Groove X, Inc.
    FD92 Qualcomm Technologies International, Ltd. (QTIL)
    FD93 Bayerische Motoren Werke AG
    FD94 Hewlett Packard Enterprise
    FD95 Rigado
    FD96 Google LLC
    FD97 June Life, Inc.
    FD98 Disney Worldwide Services, Inc.
    FD99 ABB Oy
    FD9A Huawei Technologies Co., Ltd.
    FD9B Huawei Technologies Co., Ltd.
    FD9C Huawei Technologies Co., Ltd.
    FD9D Gastec Corporation
    FD9E The Coca-Cola Company
    FD9F VitalTech Affiliates LLC
    FDA0 Secugen Corporation
    FDA1 Groove X, Inc
    FDA2 Groove X, Inc
    FDA3 Inseego Corp.
    FDA4 Inseego Corp.
    FDA5 Neurostim OAB, Inc.
    FDA6 WWZN Information Technology Company Limited
    FDA7 WWZN Information Technology Company Limited
    FDA8 PSA Peugeot Citroën
    FDA9 Rhombus Systems, Inc.
    FDAA Xiaomi Inc.
    FDAB Xiaomi Inc.
    FDAC Tentacle Sync GmbH
    FDAD Houwa System Design, k.k.
    FDAE Houwa System Design, k.k.
    FDAF Wiliot LTD
    FDB0 Oura Health Ltd
    FDB1 Oura Health Ltd
    FDB2 Portable Multimedia Ltd
    FDB3 Audiodo AB
    FDB4 HP Inc
    FDB5 ECSG
    FDB6 GWA Hygiene GmbH
    FDB7 LivaNova USA Inc.
    FDB8 LivaNova USA Inc.
    FDB9 Comcast Cable Corporation
    FDBA Comcast Cable Corporation
    FDBB Profoto
    FDBC Emerson
    FDBD Clover Network, Inc.
    FDBE California Things Inc.
    FDBF California Things Inc.
    FDC0 Hunter Douglas
    FDC1 Hunter Douglas
    FDC2 Baidu Online Network Technology (Beijing) Co., Ltd
    FDC3 Baidu Online Network Technology (Beijing) Co., Ltd
    FDC4 Simavita (Aust) Pty Ltd
    FDC5 Automatic Labs
    FDC6 Eli Lilly and Company
    FDC7 Eli Lilly and Company
    FDC8 Hach - Danaher
    FDC9 Busch-Jaeger Elektro GmbH
    FDCA Fortin Electronic Systems
    FDCB Meggitt SA
    FDCC Shoof Technologies
    FDCD Qingping Technology (Beijing) Co., Ltd.
    FDCE SENNHEISER electronic GmbH & Co. KG
    FDCF Nalu Medical, Inc
    FDD0 Huawei Technologies Co., Ltd
    FDD1 Huawei Technologies Co., Ltd
    FDD2 Bose Corporation
    FDD3 FUBA Automotive Electronics GmbH
    FDD4 LX Solutions Pty Limited
    FDD5 Brompton Bicycle Ltd
    FDD6 Ministry of Supply
    FDD7 Emerson
    FDD8 Jiangsu Teranovo Tech Co., Ltd.
    FDD9 Jiangsu Teranovo Tech Co., Ltd.
    FDDA MHCS
    FDDB Samsung Electronics Co., Ltd.
    FDDC 4iiii Innovations Inc.
    FDDD Arch Systems Inc
    FDDE Noodle Technology Inc.
    FDDF Harman International
    FDE0 John Deere
    FDE1 Fortin Electronic Systems
    FDE2 Google LLC
    FDE3 Abbott Diabetes Care
    FDE4 JUUL Labs, Inc.
    FDE5 SMK Corporation
    FDE6 Intelletto Technologies Inc
    FDE7 SECOM Co., LTD
    FDE8 Robert Bosch GmbH
    FDE9 Spacesaver Corporation
    FDEA SeeScan, Inc
    FDEB Syntronix Corporation
    FDEC Mannkind Corporation
    FDED Pole Star
    FDEE Huawei Technologies Co., Ltd.
    FDEF ART AND PROGRAM, INC.
    FDF0 Google LLC
    FDF1 LAMPLIGHT Co.,Ltd
    FDF2 AMICCOM Electronics Corporation
    FDF3 Amersports
    FDF4 O. E. M. Controls, Inc.
    FDF5 Milwaukee Electric Tools
    FDF6 AIAIAI ApS
    FDF7 HP Inc.
    FDF8 Onvocal
    FDF9 INIA
    FDFA Tandem Diabetes Care
    FDFB Tandem Diabetes Care
    FDFC Optrel AG
    FDFD RecursiveSoft Inc.
    FDFE ADHERIUM(NZ) LIMITED
    FDFF OSRAM GmbH
    FE00 Amazon.com Services, Inc.
    FE01 Duracell U.S. Operations Inc.
    FE02 Robert Bosch GmbH
    FE03 Amazon.com Services, Inc.
    FE04 Motorola Solutions, Inc.
    FE05 CORE Transport Technologies NZ Limited
    FE06 Qualcomm Technologies, Inc.
    FE07 Sonos, Inc.
    FE08 Microsoft
    FE09 Pillsy, Inc.
    FE0A ruwido austria gmbh
    FE0B ruwido austria gmbh
    FE0C Procter & Gamble
    FE0D Procter & Gamble
    FE0E Setec Pty Ltd
    FE0F Signify Netherlands B.V. (formerly Philips Lighting B.V.)
    FE10 LAPIS Technology Co., Ltd.
    FE11 GMC-I Messtechnik GmbH
    FE12 M-Way Solutions GmbH
    FE13 Apple Inc.
    FE14 Flextronics International USA Inc.
    FE15 Amazon.com Services, Inc..
    FE16 Footmarks, Inc.
    FE17 Telit Wireless Solutions GmbH
    FE18 Runtime, Inc.
    FE19 Google LLC
    FE1A Tyto Life LLC
    FE1B Tyto Life LLC
    FE1C NetMedia, Inc.
    FE1D Illuminati Instrument Corporation
    FE1E LAMPLIGHT Co., Ltd.
    FE1F Garmin International, Inc.
    FE20 Emerson
    FE21 Bose Corporation
    FE22 Zoll Medical Corporation
    FE23 Zoll Medical Corporation
    FE24 August Home Inc
    FE25 Apple, Inc.
    FE26 Google LLC
    FE27 Google LLC
    FE28 Ayla Networks
    FE29 Gibson Innovations
    FE2A DaisyWorks, Inc.
    FE2B ITT Industries
    FE2C Google LLC
    FE2D LAMPLIGHT Co., Ltd.
    FE2E ERi,Inc.
    FE2F CRESCO Wireless, Inc
    FE30 Volkswagen AG
    FE31 Volkswagen AG
    FE32 Pro-Mark, Inc.
    FE33 CHIPOLO d.o.o.
    FE34 SmallLoop LLC
    FE35 HUAWEI Technologies Co., Ltd
    FE36 HUAWEI Technologies Co., Ltd
    FE37 Spaceek LTD
    FE38 Spaceek LTD
    FE39 TTS Tooltechnic Systems AG & Co. KG
    FE3A TTS Tooltechnic Systems AG & Co. KG
    FE3B Dolby Laboratories
    FE3C alibaba
    FE3D BD Medical
    FE3E BD Medical
    FE3F Friday Labs Limited
    FE40 Inugo Systems Limited
    FE41 Inugo Systems Limited
    FE42 Nets A/S
    FE43 Andreas Stihl AG & Co. KG
    FE44 SK Telecom
    FE45 Snapchat Inc
    FE46 B&O Play A/S
    FE47 General Motors
    FE48 General Motors
    FE49 SenionLab AB
    FE4A OMRON HEALTHCARE Co., Ltd.
    FE4B Signify Netherlands B.V. (formerly Philips Lighting B.V.)
    FE4C Volkswagen AG
    FE4D Casambi Technologies Oy
    FE4E NTT docomo
    FE4F Molekule, Inc.
    FE50 Google LLC
    FE51 SRAM
    FE52 SetPoint Medical
    FE53 3M
    FE54 Motiv, Inc.
    FE55 Google LLC
    FE56 Google LLC
    FE57 Dotted Labs
    FE58 Nordic Semiconductor ASA
    FE59 Nordic Semiconductor ASA
    FE5A Cronologics Corporation
    FE5B GT-tronics HK Ltd
    FE5C million hunters GmbH
    FE5D Grundfos A/S
    FE5E Plastc Corporation
    FE5F Eyefi, Inc.
    FE60 Lierda Science & Technology Group Co., Ltd.
    FE61 Logitech International SA
    FE62 Indagem Tech LLC
    FE63 Connected Yard, Inc.
    FE64 Siemens AG
    FE65 CHIPOLO d.o.o.
    FE66 Intel Corporation
    FE67 Lab Sensor Solutions
    FE68 Capsle Technologies Inc.
    FE69 Capsle Technologies Inc.
    FE6A Kontakt Micro-Location Sp. z o.o.
    FE6B TASER International, Inc.
    FE6C TASER International, Inc.
    FE6D The University of Tokyo
    FE6E The University of Tokyo
    FE6F LINE Corporation
    FE70 Beijing Jingdong Century Trading Co., Ltd.
    FE71 Plume Design Inc
    FE72 Abbott (formerly St. Jude Medical, Inc.)
    FE73 Abbott (formerly St. Jude Medical, Inc.)
    FE74 unwire
    FE75 TangoMe
    FE76 TangoMe
    FE77 Hewlett-Packard Company
    FE78 Hewlett-Packard Company
    FE79 Zebra Technologies
    FE7A Bragi GmbH
    FE7B Orion Labs, Inc.
    FE7C Telit Wireless Solutions (Formerly Stollmann E+V GmbH)
    FE7D Aterica Health Inc.
    FE7E Awear Solutions Ltd
    FE7F Doppler Lab
    FE80 Doppler Lab
    FE81 Medtronic Inc.
    FE82 Medtronic Inc.
    FE83 Blue Bite
    FE84 RF Digital Corp
    FE85 RF Digital Corp
    FE86 HUAWEI Technologies Co., Ltd
    FE87 Qingdao Yeelink Information Technology Co., Ltd. ( 青岛亿联客信息技术有限公司 )
    FE88 SALTO SYSTEMS S.L.
    FE89 B&O Play A/S
    FE8A Apple, Inc.
    FE8B Apple, Inc.
    FE8C TRON Forum
    FE8D Interaxon Inc.
    FE8E ARM Ltd
    FE8F CSR
    FE90 JUMA
    FE91 Shanghai Imilab Technology Co.,Ltd
    FE92 Jarden Safety & Security
    FE93 OttoQ In
    FE94 OttoQ In
    FE95 Xiaomi Inc.
    FE96 Tesla Motors Inc.
    FE97 Tesla Motors Inc.
    FE98 Currant Inc
    FE99 Currant Inc
    FE9A Estimote
    FE9B Samsara Networks, Inc
    FE9C GSI Laboratories, Inc.
    FE9D Mobiquity Networks Inc
    FE9E Dialog Semiconductor B.V.
    FE9F Google LLC
    FEA0 Google LLC
    FEA1 Intrepid Control Systems, Inc.
    FEA2 Intrepid Control Systems, Inc.
    FEA3 ITT Industries
    FEA4 Paxton Access Ltd
    FEA5 GoPro, Inc.
    FEA6 GoPro, Inc.
    FEA7 UTC Fire and Security
    FEA8 Savant Systems LLC
    FEA9 Savant Systems LLC
    FEAA Google LLC
    FEAB Nokia
    FEAC Nokia
    FEAD Nokia
    FEAE Nokia
    FEAF Nest Labs Inc
    FEB0 Nest Labs Inc
    FEB1 Electronics Tomorrow Limited
    FEB2 Microsoft Corporation
    FEB3 Taobao
    FEB4 WiSilica Inc.
    FEB5 WiSilica Inc.
    FEB6 Vencer Co., Ltd
    FEB7 Meta Platforms, Inc.
    FEB8 Meta Platforms, Inc.
    FEB9 LG Electronics
    FEBA Tencent Holdings Limited
    FEBB adafruit industries
    FEBC Dexcom Inc
    FEBD Clover Network, Inc
    FEBE Bose Corporation
    FEBF Nod, Inc.
    FEC0 KDDI Corporation
    FEC1 KDDI Corporation
    FEC2 Blue Spark Technologies, Inc.
    FEC3 360fly, Inc.
    FEC4 PLUS Location Systems
    FEC5 Realtek Semiconductor Corp.
    FEC6 Kocomojo, LLC
    FEC7 Apple, Inc.
    FEC8 Apple, Inc.
    FEC9 Apple, Inc.
    FECA Apple, Inc.
    FECB Apple, Inc.
    FECC Apple, Inc.
    FECD Apple, Inc.
    FECE Apple, Inc.
    FECF Apple, Inc.
    FED0 Apple, Inc.
    FED1 Apple, Inc.
    FED2 Apple, Inc.
    FED3 Apple, Inc.
    FED4 Apple, Inc.
    FED5 Plantronics Inc.
    FED6 Broadcom
    FED7 Broadcom
    FED8 Google LLC
    FED9 Pebble Technology Corporation
    FEDA ISSC Technologies Corp.
    FEDB Perka, Inc.
    FEDC Jawbone
    FEDD Jawbone
    FEDE Coin, Inc.
    FEDF Design SHIFT
    FEE0 Anhui Huami Information Technology Co., Ltd.
    FEE1 Anhui Huami Information Technology Co., Ltd.
    FEE2 Anki, Inc.
    FEE3 Anki, Inc.
    FEE4 Nordic Semiconductor ASA
    FEE5 Nordic Semiconductor ASA
    FEE6 Silvair, Inc.
    FEE7 Tencent Holdings Limited.
    FEE8 Quintic Corp.
    FEE9 Quintic Corp.
    FEEA Swirl Networks, Inc.
    FEEB Swirl Networks, Inc.
    FEEC Tile, Inc.
    FEED Tile, Inc.
    FEEE Polar Electro Oy
    FEEF Polar Electro Oy
    FEF0 Intel
    FEF1 CSR
    FEF2 CSR
    FEF3 Google LLC
    FEF4 Google LLC
    FEF5 Dialog Semiconductor GmbH
    FEF6 Wicentric, Inc.
    FEF7 Aplix Corporation
    FEF8 Aplix Corporation
    FEF9 PayPal, Inc.
    FEFA PayPal, Inc.
    FEFB Telit Wireless Solutions (Formerly Stollmann E+V GmbH)
    FEFC Gimbal, Inc.
    FEFD Gimbal, Inc.
    FEFE GN Hearing A/S
    FEFF GN Netcom
    FFEF Wi-Fi Direct Specification
    FFF0 Public Key Open Credential (PKOC)
    FFF1 ICCE Digital Key
    FFF2 Aliro
    FFF3 FiRa Consortium
    FFF4 FiRa Consortium
    FFF5 Car Connectivity Consortium, LLC
    FFF6 Matter Profile ID
    FFF7 Zigbee Direct
    FFF8 Mopria Alliance BLE
    FFF9 FIDO2 secure client-to-authenticator transport
    FFFA ASTM Remote ID
    FFFB Direct Thread Commissioning
    FFFC Wireless Power Transfer (WPT)
    FFFD Universal Second Factor Authenticator
    FFFE Wireless Power Transfer
    """#

  /// Well-known services with a 128-bit UUID.
  static let longServiceRows = #"""
    00001523-1212-EFDE-1523-785FEABCD123 Nordic LED and Button Service
    00001530-1212-EFDE-1523-785FEABCD123 Legacy DFU Service
    00001623-1212-EFDE-1623-785FEABCD123 LEGO® Wireless Protocol v3 Hub Service
    00001625-1212-EFDE-1623-785FEABCD123 LEGO® Wireless Protocol v3 Bootloader Service
    0FDA92B2-44A2-4AF2-84F5-FA682BAA2B8D Helium Hotspot Custom Service
    54220000-F6A5-4007-A371-722F4EBD8436 Memfault Diagnostic Service
    57A70000-9350-11ED-A1EB-0242AC120002 Nordic Status Message Service
    6E400001-B5A3-F393-E0A9-E50E24DCCA9E Nordic UART Service
    7905F431-B5CE-4E99-A40F-4B1E122D00D0 Apple Notification Center Service
    7DFC6000-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Service
    7DFC7000-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Service
    7DFC8000-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Service
    7DFC9000-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Service
    89D3502B-0F36-433A-8EF4-C502AD55F8DC Apple Media Service
    8D53DC1D-1DB7-4CD3-868B-8A527460AA84 SMP Service
    8E400001-F315-4F60-9FB8-838830DAEA50 Experimental Buttonless DFU Service
    932C32BD-0000-47A2-835A-A8D455B859DD Philips Hue Light Control Service
    A3C87500-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Configuration Service
    ADAF0100-C332-42A8-93BD-25E905756CB8 Adafruit Temperature Service
    ADAF0200-C332-42A8-93BD-25E905756CB8 Adafruit Accelerometer Service
    ADAF0300-C332-42A8-93BD-25E905756CB8 Adafruit Light Service
    ADAF0400-C332-42A8-93BD-25E905756CB8 Adafruit Gyroscope Service
    ADAF0500-C332-42A8-93BD-25E905756CB8 Adafruit Magnetometer Service
    ADAF0600-C332-42A8-93BD-25E905756CB8 Adafruit Button Service
    ADAF0700-C332-42A8-93BD-25E905756CB8 Adafruit Humidity Service
    ADAF0800-C332-42A8-93BD-25E905756CB8 Adafruit Barometric Service
    ADAF0900-C332-42A8-93BD-25E905756CB8 Adafruit Addressable Service
    ADAF0A00-C332-42A8-93BD-25E905756CB8 Adafruit Color Service
    ADAF0B00-C332-42A8-93BD-25E905756CB8 Adafruit Sound Service
    ADAF0C00-C332-42A8-93BD-25E905756CB8 Adafruit Tone Service
    ADAF0D00-C332-42A8-93BD-25E905756CB8 Adafruit Quaternion Service
    ADAF0E00-C332-42A8-93BD-25E905756CB8 Adafruit Proximity Service
    B8843ADD-0000-4AA1-8794-C3F462030BDA Philips Hue Light Update Service
    E2A00001-EC31-4EC3-A97A-1C34D87E9878 Edge Impulse Remote Management Service
    E95D0753-251D-470A-A062-FA1922DFA9A8 micro:bit Accelerometer Service
    E95D127B-251D-470A-A062-FA1922DFA9A8 micro:bit IO Pin Service
    E95D6100-251D-470A-A062-FA1922DFA9A8 micro:bit Temperature Service
    E95D93AF-251D-470A-A062-FA1922DFA9A8 micro:bit Event Service
    E95D93B0-251D-470A-A062-FA1922DFA9A8 micro:bit DFU Control Service
    E95D9882-251D-470A-A062-FA1922DFA9A8 micro:bit Button Service
    E95DD91D-251D-470A-A062-FA1922DFA9A8 micro:bit LED Service
    E95DF2D8-251D-470A-A062-FA1922DFA9A8 micro:bit Magnetometer Service
    EF680100-9B35-4933-9B10-52FFA9740042 Thingy Configuration Service
    EF680200-9B35-4933-9B10-52FFA9740042 Thingy Weather Station Service
    EF680300-9B35-4933-9B10-52FFA9740042 Thingy UI Service
    EF680400-9B35-4933-9B10-52FFA9740042 Thingy Motion Service
    EF680500-9B35-4933-9B10-52FFA9740042 Thingy Sound Service
    F000FFC0-0451-4000-B000-000000000000 Texas Instruments Over-the-Air Download (OAD) Service
    """#

  /// Characteristics with a 16-bit UUID.
  static let characteristicRows = #"""
    1233 Deprecated Fast Pair Model ID
    1234 Deprecated Fast Pair Key-based Pairing
    1235 Deprecated Fast Pair Passkey
    1236 Deprecated Fast Pair Account Key
    1237 Deprecated Fast Pair Data
    2A00 Device Name
    2A01 Appearance
    2A02 Peripheral Privacy Flag
    2A03 Reconnection Address
    2A04 Peripheral Preferred Connection Parameters
    2A05 Service Changed
    2A06 Alert Level
    2A07 Tx Power Level
    2A08 Date Time
    2A09 Day of Week
    2A0A Day Date Time
    2A0B Exact Time 100
    2A0C Exact Time 256
    2A0D DST Offset
    2A0E Time Zone
    2A0F Local Time Information
    2A10 Secondary Time Zone
    2A11 Time with DST
    2A12 Time Accuracy
    2A13 Time Source
    2A14 Reference Time Information
    2A15 Time Broadcast
    2A16 Time Update Control Point
    2A17 Time Update State
    2A18 Glucose Measurement
    2A19 Battery Level
    2A1A Battery Power State
    2A1B Battery Level State
    2A1C Temperature Measurement
    2A1D Temperature Type
    2A1E Intermediate Temperature
    2A1F Temperature Celsius
    2A20 Temperature Fahrenheit
    2A21 Measurement Interval
    2A22 Boot Keyboard Input Report
    2A23 System ID
    2A24 Model Number String
    2A25 Serial Number String
    2A26 Firmware Revision String
    2A27 Hardware Revision String
    2A28 Software Revision String
    2A29 Manufacturer Name String
    2A2A IEEE 11073-20601 Regulatory Certification Data List
    2A2B Current Time
    2A2C Magnetic Declination
    2A2F Position 2D
    2A30 Position 3D
    2A31 Scan Refresh
    2A32 Boot Keyboard Output Report
    2A33 Boot Mouse Input Report
    2A34 Glucose Measurement Context
    2A35 Blood Pressure Measurement
    2A36 Intermediate Cuff Pressure
    2A37 Heart Rate Measurement
    2A38 Body Sensor Location
    2A39 Heart Rate Control Point
    2A3A Removable
    2A3B Service Required
    2A3C Scientific Temperature Celsius
    2A3D String
    2A3E Network Availability
    2A3F Alert Status
    2A40 Ringer Control point
    2A41 Ringer Setting
    2A42 Alert Category ID Bit Mask
    2A43 Alert Category ID
    2A44 Alert Notification Control Point
    2A45 Unread Alert Status
    2A46 New Alert
    2A47 Supported New Alert Category
    2A48 Supported Unread Alert Category
    2A49 Blood Pressure Feature
    2A4A HID Information
    2A4B Report Map
    2A4C HID Control Point
    2A4D Report
    2A4E Protocol Mode
    2A4F Scan Interval Window
    2A50 PnP ID
    2A51 Glucose Feature
    2A52 Record Access Control Point
    2A53 RSC Measurement
    2A54 RSC Feature
    2A55 SC Control Point
    2A56 Digital
    2A57 Digital Output
    2A58 Analog
    2A59 Analog Output
    2A5A Aggregate
    2A5B CSC Measurement
    2A5C CSC Feature
    2A5D Sensor Location
    2A5E PLX Spot-Check Measurement
    2A5F PLX Continuous Measurement
    2A60 PLX Features
    2A62 Pulse Oximetry Control Point
    2A63 Cycling Power Measurement
    2A64 Cycling Power Vector
    2A65 Cycling Power Feature
    2A66 Cycling Power Control Point
    2A67 Location and Speed
    2A68 Navigation
    2A69 Position Quality
    2A6A LN Feature
    2A6B LN Control Point
    2A6C Elevation
    2A6D Pressure
    2A6E Temperature
    2A6F Humidity
    2A70 True Wind Speed
    2A71 True Wind Direction
    2A72 Apparent Wind Speed
    2A73 Apparent Wind Direction
    2A74 Gust Factor
    2A75 Pollen Concentration
    2A76 UV Index
    2A77 Irradiance
    2A78 Rainfall
    2A79 Wind Chill
    2A7A Heat Index
    2A7B Dew Point
    2A7D Descriptor Value Changed
    2A7E Aerobic Heart Rate Lower Limit
    2A7F Aerobic Threshold
    2A80 Age
    2A81 Anaerobic Heart Rate Lower Limit
    2A82 Anaerobic Heart Rate Upper Limit
    2A83 Anaerobic Threshold
    2A84 Aerobic Heart Rate Upper Limit
    2A85 Date of Birth
    2A86 Date of Threshold Assessment
    2A87 Email Address
    2A88 Fat Burn Heart Rate Lower Limit
    2A89 Fat Burn Heart Rate Upper Limit
    2A8A First Name
    2A8B Five Zone Heart Rate Limits
    2A8C Gender
    2A8D Heart Rate Max
    2A8E Height
    2A8F Hip Circumference
    2A90 Last Name
    2A91 Maximum Recommended Heart Rate
    2A92 Resting Heart Rate
    2A93 Sport Type for Aerobic and Anaerobic Thresholds
    2A94 Three Zone Heart Rate Limits
    2A95 Two Zone Heart Rate Limit
    2A96 VO2 Max
    2A97 Waist Circumference
    2A98 Weight
    2A99 Database Change Increment
    2A9A User Index
    2A9B Body Composition Feature
    2A9C Body Composition Measurement
    2A9D Weight Measurement
    2A9E Weight Scale Feature
    2A9F User Control Point
    2AA0 Magnetic Flux Density - 2D
    2AA1 Magnetic Flux Density - 3D
    2AA2 Language
    2AA3 Barometric Pressure Trend
    2AA4 Bond Management Control Point
    2AA5 Bond Management Features
    2AA6 Central Address Resolution
    2AA7 CGM Measurement
    2AA8 CGM Feature
    2AA9 CGM Status
    2AAA CGM Session Start Time
    2AAB CGM Session Run Time
    2AAC CGM Specific Ops Control Point
    2AAD Indoor Positioning Configuration
    2AAE Latitude
    2AAF Longitude
    2AB0 Local North Coordinate
    2AB1 Local East Coordinate
    2AB2 Floor Number
    2AB3 Altitude
    2AB4 Uncertainty
    2AB5 Location Name
    2AB6 URI
    2AB7 HTTP Headers
    2AB8 HTTP Status Code
    2AB9 HTTP Entity Body
    2ABA HTTP Control Point
    2ABB HTTPS Security
    2ABC TDS Control Point
    2ABD OTS Feature
    2ABE Object Name
    2ABF Object Type
    2AC0 Object Size
    2AC1 Object First-Created
    2AC2 Object Last-Modified
    2AC3 Object ID
    2AC4 Object Properties
    2AC5 Object Action Control Point
    2AC6 Object List Control Point
    2AC7 Object List Filter
    2AC8 Object Changed
    2AC9 Resolvable Private Address Only
    2ACC Fitness Machine Feature
    2ACD Treadmill Data
    2ACE Cross Trainer Data
    2ACF Step Climber Data
    2AD0 Stair Climber Data
    2AD1 Rower Data
    2AD2 Indoor Bike Data
    2AD3 Training Status
    2AD4 Supported Speed Range
    2AD5 Supported Inclination Range
    2AD6 Supported Resistance Level Range
    2AD7 Supported Heart Rate Range
    2AD8 Supported Power Range
    2AD9 Fitness Machine Control Point
    2ADA Fitness Machine Status
    2ADB Mesh Provisioning Data In
    2ADC Mesh Provisioning Data Out
    2ADD Mesh Proxy Data In
    2ADE Mesh Proxy Data Out
    2AE0 Average Current
    2AE1 Average Voltage
    2AE2 Boolean
    2AE3 Chromatic Distance From Planckian
    2AE4 Chromaticity Coordinates
    2AE5 Chromaticity In CCT And Duv Values
    2AE6 Chromaticity Tolerance
    2AE7 CIE 13.3-1995 Color Rendering Index
    2AE8 Coefficient
    2AE9 Correlated Color Temperature
    2AEA Count 16
    2AEB Count 24
    2AEC Country Code
    2AED Date UTC
    2AEE Electric Current
    2AEF Electric Current Range
    2AF0 Electric Current Specification
    2AF1 Electric Current Statistics
    2AF2 Energy
    2AF3 Energy In A Period Of Day
    2AF4 Event Statistics
    2AF5 Fixed String 16
    2AF6 Fixed String 24
    2AF7 Fixed String 36
    2AF8 Fixed String 8
    2AF9 Generic Level
    2AFA Global Trade Item Number
    2AFB Illuminance
    2AFC Luminous Efficacy
    2AFD Luminous Energy
    2AFE Luminous Exposure
    2AFF Luminous Flux
    2B00 Luminous Flux Range
    2B01 Luminous Intensity
    2B02 Mass Flow
    2B03 Perceived Lightness
    2B04 Percentage 8
    2B05 Power
    2B06 Power Specification
    2B07 Relative Runtime In A Current Range
    2B08 Relative Runtime In A Generic Level Range
    2B09 Relative Value In A Voltage Range
    2B0A Relative Value In An Illuminance Range
    2B0B Relative Value In A Period Of Day
    2B0C Relative Value In A Temperature Range
    2B0D Temperature 8
    2B0E Temperature 8 In A Period Of Day
    2B0F Temperature 8 Statistics
    2B10 Temperature Range
    2B11 Temperature Statistics
    2B12 Time Decihour 8
    2B13 Time Exponential 8
    2B14 Time Hour 24
    2B15 Time Millisecond 24
    2B16 Time Second 16
    2B17 Time Second 8
    2B18 Voltage
    2B19 Voltage Specification
    2B1A Voltage Statistics
    2B1B Volume Flow
    2B1C Chromaticity Coordinate
    2B1D RC Feature
    2B1E RC Settings
    2B1F Reconnection Configuration Control Point
    2B20 IDD Status Changed
    2B21 IDD Status
    2B22 IDD Annunciation Status
    2B23 IDD Features
    2B24 IDD Status Reader Control Point
    2B25 IDD Command Control Point
    2B26 IDD Command Data
    2B27 IDD Record Access Control Point
    2B28 IDD History Data
    2B29 Client Supported Features
    2B2A Database Hash
    2B2B BSS Control Point
    2B2C BSS Response
    2B2D Emergency ID
    2B2E Emergency Text
    2B34 Enhanced Blood Pressure Measurement
    2B35 Enhanced Intermediate Cuff Pressure
    2B36 Blood Pressure Record
    2B38 BR-EDR Handover Data
    2B39 Bluetooth SIG Data
    2B3A Server Supported Features
    2B3B Physical Activity Monitor Features
    2B3C General Activity Instantaneous Data
    2B3D General Activity Summary Data
    2B3E CardioRespiratory Activity Instantaneous Data
    2B3F CardioRespiratory Activity Summary Data
    2B40 Step Counter Activity Summary Data
    2B41 Sleep Activity Instantaneous Data
    2B42 Sleep Activity Summary Data
    2B43 Physical Activity Monitor Control Point
    2B44 Activity Current Session
    2B45 Physical Activity Session Descriptor
    2B46 Preferred Units
    2B47 High Resolution Height
    2B48 Middle Name
    2B49 Stride Length
    2B4A Handedness
    2B4B Device Wearing Position
    2B4C Four Zone Heart Rate Limits
    2B4D High Intensity Exercise Threshold
    2B4E Activity Goal
    2B4F Sedentary Interval Notification
    2B50 Caloric Intake
    2B51 TMAP Role
    2B77 Audio Input State
    2B78 Gain Settings Attribute
    2B79 Audio Input Type
    2B7A Audio Input Status
    2B7B Audio Input Control Point
    2B7C Audio Input Description
    2B7D Volume State
    2B7E Volume Control Point
    2B7F Volume Flags
    2B80 Volume Offset State
    2B81 Audio Location
    2B82 Volume Offset Control Point
    2B83 Audio Output Description
    2B84 Set Identity Resolving Key
    2B85 Coordinated Set Size
    2B86 Set Member Lock
    2B87 Set Member Rank
    2B8E Device Time Feature
    2B8F Device Time Parameters
    2B90 Device Time
    2B91 Device Time Control Point
    2B92 Time Change Log Data
    2B93 Media Player Name
    2B94 Media Player Icon Object ID
    2B95 Media Player Icon URL
    2B96 Track Changed
    2B97 Track Title
    2B98 Track Duration
    2B99 Track Position
    2B9A Playback Speed
    2B9B Seeking Speed
    2B9C Current Track Segments Object ID
    2B9D Current Track Object ID
    2B9E Next Track Object ID
    2B9F Parent Group Object ID
    2BA0 Current Group Object ID
    2BA1 Playing Order
    2BA2 Playing Orders Supported
    2BA3 Media State
    2BA4 Media Control Point
    2BA5 Media Control Point Opcodes Supported
    2BA6 Search Results Object ID
    2BA7 Search Control Point
    2BA9 Media Player Icon Object Type
    2BAA Track Segments Object Type
    2BAB Track Object Type
    2BAC Group Object Type
    2BAD Constant Tone Extension Enable
    2BAE Advertising Constant Tone Extension Minimum Length
    2BAF Advertising Constant Tone Extension Minimum Transmit Count
    2BB0 Advertising Constant Tone Extension Transmit Duration
    2BB1 Advertising Constant Tone Extension Interval
    2BB2 Advertising Constant Tone Extension PHY
    2BB3 Bearer Provider Name
    2BB4 Bearer UCI
    2BB5 Bearer Technology
    2BB6 Bearer URI Schemes Supported List
    2BB7 Bearer Signal Strength
    2BB8 Bearer Signal Strength Reporting Interval
    2BB9 Bearer List Current Calls
    2BBA Content Control ID
    2BBB Status Flags
    2BBC Incoming Call Target Bearer URI
    2BBD Call State
    2BBE Call Control Point
    2BBF Call Control Point Optional Opcodes
    2BC0 Termination Reason
    2BC1 Incoming Call
    2BC2 Call Friendly Name
    2BC3 Mute
    2BC4 Sink ASE
    2BC5 Source ASE
    2BC6 ASE Control Point
    2BC7 Broadcast Audio Scan Control Point
    2BC8 Broadcast Receive State
    2BC9 Sink PAC
    2BCA Sink Audio Location
    2BCB Source PAC
    2BCC Source Audio Location
    2BCD Available Audio Contexts
    2BCE Supported Audio Contexts
    2BCF Ammonia Concentration
    2BD0 Carbon Monoxide Concentration
    2BD1 Methane Concentration
    2BD2 Nitrogen Dioxide Concentration
    2BD3 Non-Methane Volatile Organic Compounds Concentration
    2BD4 Ozone Concentration
    2BD5 Particulate Matter - PM1 Concentration
    2BD6 Particulate Matter - PM2.5 Concentration
    2BD7 Particulate Matter - PM10 Concentration
    2BD8 Sulfur Dioxide Concentration
    2BD9 Sulfur Hexafluoride Concentration
    2BDA Hearing Aid Features
    2BDB Hearing Aid Preset Control Point
    2BDC Active Preset Index
    2BE9 Battery Critical Status
    2BEA Battery Health Status
    2BEB Battery Health Information
    2BEC Battery Information
    2BED Battery Level Status
    2BEE Battery Time Status
    2BEF Estimated Service Date
    2BF0 Battery Energy Status
    2BF5 E GATT Security Levels
    2C00 GMAP Role
    2C01 UGG Features
    2C02 UGT Features
    2C03 BGS Features
    2C04 BGR Features
    2C1A Coordinated Set Name
    """#

  /// Well-known characteristics with a 128-bit UUID.
  static let longCharacteristicRows = #"""
    00001524-1212-EFDE-1523-785FEABCD123 Blinky Button State
    00001525-1212-EFDE-1523-785FEABCD123 Blinky LED State
    00001531-1212-EFDE-1523-785FEABCD123 Legacy DFU Control Point
    00001532-1212-EFDE-1523-785FEABCD123 Legacy DFU Packet
    00001534-1212-EFDE-1523-785FEABCD123 Legacy DFU Version
    00001624-1212-EFDE-1623-785FEABCD123 LEGO® Wireless Protocol v3 Hub Characteristic
    00001626-1212-EFDE-1623-785FEABCD123 LEGO® Wireless Protocol v3 Bootloader Characteristic
    0A852C59-50D3-4492-BFD3-22FE58A24F01 Helium Hotspot Public Key
    180EFDEF-7579-4B4A-B2DF-72733B7FA2FE Helium Hotspot Lights
    22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB Apple Data Source
    2F7CABCE-808D-411F-9A0C-BB92BA96C102 Apple Entity Update
    398168AA-0111-4EC0-B1FA-171671270608 Helium Hotspot WiFi Connect
    54220001-F6A5-4007-A371-722F4EBD8436 MDS Supported Features Characteristic
    54220002-F6A5-4007-A371-722F4EBD8436 MDS Device Identifier Characteristic
    54220003-F6A5-4007-A371-722F4EBD8436 MDS Device Data URI Characteristic
    54220004-F6A5-4007-A371-722F4EBD8436 MDS Device Authorization Characteristic
    54220005-F6A5-4007-A371-722F4EBD8436 MDS Device Data Export Characteristic
    57A70001-9350-11ED-A1EB-0242AC120002 Status Characteristic
    69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9 Apple Control Point
    6E400002-B5A3-F393-E0A9-E50E24DCCA9E UART RX Characteristic
    6E400003-B5A3-F393-E0A9-E50E24DCCA9E UART TX Characteristic
    7731DE63-BC6A-4100-8AB1-89B2356B038B Helium Hotspot WiFi SSID
    7DFC6001-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6002-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6003-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6004-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6005-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6101-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6102-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6103-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6104-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6105-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6106-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6107-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6108-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6201-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6202-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC6203-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7004-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7005-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7006-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7007-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7008-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7009-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC700A-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC700B-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC700C-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7103-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7104-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7105-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7106-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7107-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7108-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC7109-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC710B-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC710C-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC710D-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC8003-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC8004-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    7DFC9001-7D1C-4951-86AA-8D9728F8D66C Apple Reserved Characteristic
    8CC6E0B3-98C5-40CC-B1D8-692940E6994B Helium Hotspot WiFi Remove
    8E400001-F315-4F60-9FB8-838830DAEA50 Experimental Buttonless DFU
    8EC90001-F315-4F60-9FB8-838830DAEA50 DFU Control Point
    8EC90002-F315-4F60-9FB8-838830DAEA50 DFU Packet
    8EC90003-F315-4F60-9FB8-838830DAEA50 Buttonless DFU Without Bonds
    8EC90004-F315-4F60-9FB8-838830DAEA50 Buttonless DFU With Bonds
    932C32BD-0002-47A2-835A-A8D455B859DD Philips Hue Light On/Off Toggle
    932C32BD-0003-47A2-835A-A8D455B859DD Philips Hue Light Brightness Level
    932C32BD-0005-47A2-835A-A8D455B859DD Philips Hue Light Color
    9B3C81D8-57B1-4A8A-B8DF-0E56F7CA51C2 Apple Remote Command
    9C4314F2-8A0C-45FD-A58D-D4A7E64C3A57 Helium Hotspot WiFi MAC Address
    9FBF120D-6301-42D9-8C58-25E699A21DBD Apple Notification Source
    A3C87501-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Capabilities
    A3C87502-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Active Slot
    A3C87503-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Advertising Interval
    A3C87504-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Radio Tx Power
    A3C87505-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone (Advanced) Advertised Tx Power
    A3C87506-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Lock State
    A3C87507-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Unlock
    A3C87508-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Public ECDH Key
    A3C87509-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone EID Identity Key
    A3C8750A-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone ADV Slot Data
    A3C8750B-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone Advanced Factory Reset
    A3C8750C-8ED3-4BDF-8A39-A01BEBEDE295 Eddystone (Advanced) Remain Connectable
    ADAF0001-C332-42A8-93BD-25E905756CB8 Adafruit Sensor Measurement Period
    ADAF0002-C332-42A8-93BD-25E905756CB8 Adafruit Sensor Service Version
    ADAF0100-4669-6C65-5472-616E73666572 Adafruit Version
    ADAF0101-C332-42A8-93BD-25E905756CB8 Adafruit Temperature
    ADAF0200-4669-6C65-5472-616E73666572 Adafruit Raw TX/RX
    ADAF0201-C332-42A8-93BD-25E905756CB8 Adafruit Acceleration
    ADAF0301-C332-42A8-93BD-25E905756CB8 Adafruit Light Level
    ADAF0401-C332-42A8-93BD-25E905756CB8 Adafruit Gyro
    ADAF0501-C332-42A8-93BD-25E905756CB8 Adafruit Magnetic
    ADAF0601-C332-42A8-93BD-25E905756CB8 Adafruit Pressed
    ADAF0701-C332-42A8-93BD-25E905756CB8 Adafruit Humidity
    ADAF0801-C332-42A8-93BD-25E905756CB8 Adafruit Pressure
    ADAF0901-C332-42A8-93BD-25E905756CB8 Adafruit Pixel Pin
    ADAF0902-C332-42A8-93BD-25E905756CB8 Adafruit Pixel Pin Type
    ADAF0903-C332-42A8-93BD-25E905756CB8 Adafruit Pixel Data
    ADAF0904-C332-42A8-93BD-25E905756CB8 Adafruit Pixel Buffer Size
    ADAF0A01-C332-42A8-93BD-25E905756CB8 Adafruit Color
    ADAF0B01-C332-42A8-93BD-25E905756CB8 Adafruit Sound Samples
    ADAF0B02-C332-42A8-93BD-25E905756CB8 Adafruit Number of Channels
    ADAF0C01-C332-42A8-93BD-25E905756CB8 Adafruit Tone
    ADAF0D01-C332-42A8-93BD-25E905756CB8 Adafruit Quaternions
    ADAF0D02-C332-42A8-93BD-25E905756CB8 Adafruit Calibration In
    ADAF0D03-C332-42A8-93BD-25E905756CB8 Adafruit Calibration Out
    ADAF0E01-C332-42A8-93BD-25E905756CB8 Adafruit Proximity
    B833D34F-D871-422C-BF9E-8E6EC117D57E Helium Hotspot Diagnostics
    C6B2F38C-23AB-46D8-A6AB-A3A870BBD5D7 Apple Entity Attribute
    D083B2BD-BE16-4600-B397-61512CA2F5AD Helium Hotspot Onboarding Key
    D435F5DE-01A4-4E7D-84BA-DFD347F60275 Helium Hotspot Assert Location
    D7515033-7E7B-45BE-803F-C8737B171A29 Helium Hotspot WiFi Services
    DA2E7828-FBCE-4E01-AE9E-261174997C48 SMP Characteristic
    DF3B16CA-C985-4DA2-A6D2-9B9B9ABDB858 Helium Hotspot Add Gateway
    E125BDA4-6FB8-11EA-BC55-0242AC130003 Helium Hotspot WiFi Configured Services
    E2A00002-EC31-4EC3-A97A-1C34D87E9878 Edge Impulse Remote Management RX Characteristic
    E2A00003-EC31-4EC3-A97A-1C34D87E9878 Edge Impulse Remote Management TX Characteristic
    E5866BD6-0288-4476-98CA-EF7DA6B4D289 Helium Hotspot Ethernet Online
    E95D0D2D-251D-470A-A062-FA1922DFA9A8 micro:bit Scrolling Delay
    E95D1B25-251D-470A-A062-FA1922DFA9A8 micro:bit Temperature Period
    E95D23C4-251D-470A-A062-FA1922DFA9A8 micro:bit Client Requirements
    E95D386C-251D-470A-A062-FA1922DFA9A8 micro:bit Magnetometer Period
    E95D5404-251D-470A-A062-FA1922DFA9A8 micro:bit Client Event
    E95D5899-251D-470A-A062-FA1922DFA9A8 micro:bit Pin AD Configuration
    E95D7B77-251D-470A-A062-FA1922DFA9A8 micro:bit LED Matrix State
    E95D8D00-251D-470A-A062-FA1922DFA9A8 micro:bit Pin Data
    E95D9250-251D-470A-A062-FA1922DFA9A8 micro:bit Temperature
    E95D93B1-251D-470A-A062-FA1922DFA9A8 micro:bit DFU Control
    E95D93EE-251D-470A-A062-FA1922DFA9A8 micro:bit LED Text
    E95D9715-251D-470A-A062-FA1922DFA9A8 micro:bit Magnetometer Bearing
    E95D9775-251D-470A-A062-FA1922DFA9A8 micro:bit Event
    E95DB84C-251D-470A-A062-FA1922DFA9A8 micro:bit Requirements
    E95DB9FE-251D-470A-A062-FA1922DFA9A8 micro:bit Pin I/O Configuration
    E95DCA4B-251D-470A-A062-FA1922DFA9A8 micro:bit Accelerometer Data
    E95DD822-251D-470A-A062-FA1922DFA9A8 micro:bit PWM Control
    E95DDA90-251D-470A-A062-FA1922DFA9A8 micro:bit Button A State
    E95DDA91-251D-470A-A062-FA1922DFA9A8 micro:bit Button B State
    E95DFB11-251D-470A-A062-FA1922DFA9A8 micro:bit Magnetometer Data
    E95DFB24-251D-470A-A062-FA1922DFA9A8 micro:bit Accelerometer Period
    EF680101-9B35-4933-9B10-52FFA9740042 Thingy Device Name
    EF680102-9B35-4933-9B10-52FFA9740042 Thingy Advertising Parameters
    EF680104-9B35-4933-9B10-52FFA9740042 Thingy Connection Parameters
    EF680105-9B35-4933-9B10-52FFA9740042 Thingy Eddystone URL
    EF680106-9B35-4933-9B10-52FFA9740042 Thingy Cloud Token
    EF680107-9B35-4933-9B10-52FFA9740042 Thingy FW Version
    EF680108-9B35-4933-9B10-52FFA9740042 Thingy MTU Request
    EF680201-9B35-4933-9B10-52FFA9740042 Thingy Temperature
    EF680202-9B35-4933-9B10-52FFA9740042 Thingy Pressure
    EF680203-9B35-4933-9B10-52FFA9740042 Thingy Humidity
    EF680204-9B35-4933-9B10-52FFA9740042 Thingy Air Quality
    EF680205-9B35-4933-9B10-52FFA9740042 Thingy Color
    EF680206-9B35-4933-9B10-52FFA9740042 Thingy Configuration
    EF680301-9B35-4933-9B10-52FFA9740042 Thingy LED State
    EF680302-9B35-4933-9B10-52FFA9740042 Thingy Button State
    EF680303-9B35-4933-9B10-52FFA9740042 Thingy EXT Pin
    EF680401-9B35-4933-9B10-52FFA9740042 Thingy Motion Config
    EF680402-9B35-4933-9B10-52FFA9740042 Thingy Tap
    EF680403-9B35-4933-9B10-52FFA9740042 Thingy Orientation
    EF680404-9B35-4933-9B10-52FFA9740042 Thingy Quaternion
    EF680405-9B35-4933-9B10-52FFA9740042 Thingy Pedometer
    EF680406-9B35-4933-9B10-52FFA9740042 Thingy Raw Data
    EF680407-9B35-4933-9B10-52FFA9740042 Thingy Euler
    EF680408-9B35-4933-9B10-52FFA9740042 Thingy Rotation Matrix
    EF680409-9B35-4933-9B10-52FFA9740042 Thingy Heading
    EF68040A-9B35-4933-9B10-52FFA9740042 Thingy Gravity Vector
    EF680501-9B35-4933-9B10-52FFA9740042 Thingy Sound Config
    EF680502-9B35-4933-9B10-52FFA9740042 Thingy Speaker Data
    EF680503-9B35-4933-9B10-52FFA9740042 Thingy Speaker Status
    EF680504-9B35-4933-9B10-52FFA9740042 Thingy Microphone
    F000FFC1-0451-4000-B000-000000000000 Texas Instruments Image Identify
    F000FFC2-0451-4000-B000-000000000000 Texas Instruments Image Block
    F000FFC5-0451-4000-B000-000000000000 Texas Instruments OAD Control
    FE2C1233-8366-4814-8EB0-01DE32100BEA Fast Pair Model ID
    FE2C1234-8366-4814-8EB0-01DE32100BEA Fast Pair Key-based Pairing
    FE2C1235-8366-4814-8EB0-01DE32100BEA Fast Pair Passkey
    FE2C1236-8366-4814-8EB0-01DE32100BEA Fast Pair Account Key
    FE2C1237-8366-4814-8EB0-01DE32100BEA Fast Pair Data
    """#

  /// Descriptors.
  static let descriptorRows = #"""
    2900 Characteristic Extended Properties
    2901 Characteristic User Description
    2902 Client Characteristic Configuration
    2903 Server Characteristic Configuration
    2904 Characteristic Format
    2905 Characteristic Aggregate Format
    2906 Valid Range
    2907 External Report
    2908 Report Reference
    2909 Number of Digitals
    290A Value Trigger Setting
    290B Environmental Sensing Configuration
    290C Environmental Sensing Measurement
    290D Environmental Sensing Trigger Setting
    290E Time Trigger Setting
    290F Valid Range And Accuracy
    """#
}
