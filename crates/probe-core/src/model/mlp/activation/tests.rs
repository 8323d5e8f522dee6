use super::*;
use probe_testkit::{Mixed, Relative, assert_close};

// Reference values: mpmath 1.3.0 at 420 digits, from the definitions; arguments are the exact
// doubles.
#[rustfmt::skip]
const KNOWN: &[(Activation, f64, [f64; 3])] = &[
    (Activation::Tanh, -30.0, [-1.0, 3.502_604_305_078_608e-26, 7.005_208_610_157_216e-26]),
    (Activation::Tanh, -6.5, [-0.999_995_479_351_404_2, 9.041_276_755_350_57e-06,
        1.808_247_176_583_100_5e-05]),
    (Activation::Tanh, -1.25, [-0.848_283_639_957_512_9, 0.280_414_866_180_432_65,
        0.475_742_686_763_472_53]),
    (Activation::Tanh, -0.1, [-0.099_667_994_624_955_82, 0.990_066_290_847_439_8,
        0.197_355_843_509_065_15]),
    (Activation::Tanh, 0.0, [0.0, 1.0, 0.0]),
    (Activation::Tanh, 0.3, [0.291_312_612_451_590_9, 0.915_136_961_826_629_2,
        -0.533_181_878_201_454_4]),
    (Activation::Tanh, 2.5, [0.986_614_298_151_430_3, 0.026_592_226_683_160_62,
        -0.052_472_542_130_580_5]),
    (Activation::Tanh, 9.0, [0.999_999_969_540_041, 6.091_991_712_323_229e-08,
        -1.218_398_305_352_282_4e-07]),
    (Activation::Tanh, 36.0, [1.0, 2.152_074_464_008_455_3e-31, -4.304_148_928_016_911e-31]),
    (Activation::Sigmoid, -30.0, [9.357_622_968_839_299e-14, 9.357_622_968_838_423e-14,
        9.357_622_968_836_672e-14]),
    (Activation::Sigmoid, -6.5, [0.001_501_182_256_736_991_5, 0.001_498_928_708_569_049_6,
        0.001_494_428_378_206_214_5]),
    (Activation::Sigmoid, -1.25, [0.222_700_138_825_308_84, 0.173_104_786_992_497,
        0.096_003_866_803_387_81]),
    (Activation::Sigmoid, -0.1, [0.475_020_812_521_06, 0.249_376_040_192_891_97,
        0.012_458_421_721_467_845]),
    (Activation::Sigmoid, 0.0, [0.5, 0.25, 0.0]),
    (Activation::Sigmoid, 0.3, [0.574_442_516_811_659, 0.244_458_311_690_745_86,
        -0.036_396_183_955_576_24]),
    (Activation::Sigmoid, 2.5, [0.924_141_819_978_756_4, 0.070_103_716_545_108_16,
        -0.059_467_835_845_434_07]),
    (Activation::Sigmoid, 9.0, [0.999_876_605_424_013_8, 0.000_123_379_349_764_848_9,
        -0.000_123_348_901_079_749_54]),
    (Activation::Sigmoid, 36.0, [0.999_999_999_999_999_8, 2.319_522_830_243_568e-16,
        -2.319_522_830_243_567e-16]),
    (Activation::Gelu, -30.0, [-1.472_014_178_144_456e-196, -4.416_031_690_708_495e-195,
        -1.323_334_229_120_935_7e-193]),
    (Activation::Gelu, -6.5, [-2.610_400_379_508_426_7e-10, -1.695_051_793_757_262_5e-09,
        -1.074_496_537_442_047_9e-08]),
    (Activation::Gelu, -1.25, [-0.132_062_217_083_569_08, -0.122_661_583_069_422_13,
        0.079_908_974_857_697_09]),
    (Activation::Gelu, -0.1, [-0.046_017_216_272_297_1, 0.420_476_907_975_269_8,
        0.789_935_569_479_253_4]),
    (Activation::Gelu, 0.0, [0.0, 0.5, 0.797_884_560_802_865_4]),
    (Activation::Gelu, 0.3, [0.185_373_426_656_685_8, 0.732_327_766_827_109_9,
        0.728_450_727_529_601]),
    (Activation::Gelu, 2.5, [2.484_475_836_685_559_7, 1.037_611_085_908_145,
        -0.074_495_277_097_666_29]),
    (Activation::Gelu, 9.0, [9.0, 1.0, -8.121_021_121_618_442e-17]),
    (Activation::Gelu, 36.0, [36.0, 1.0, -1.949_934_704_600_790_6e-279]),
    (Activation::Silu, -30.0, [-2.807_286_890_651_789_6e-12, -2.713_710_660_963_134e-12,
        -2.620_134_431_274_233e-12]),
    (Activation::Silu, -6.5, [-0.009_757_684_668_790_446, -0.008_241_854_348_961_832,
        -0.006_715_927_041_202_295]),
    (Activation::Silu, -1.25, [-0.278_375_173_531_636_04, 0.006_319_155_084_687_581_5,
        0.226_204_740_480_759_28]),
    (Activation::Silu, -0.1, [-0.047_502_081_252_106_004, 0.450_083_208_501_770_8,
        0.497_506_238_213_637_15]),
    (Activation::Silu, 0.0, [0.0, 0.5, 0.5]),
    (Activation::Silu, 0.3, [0.172_332_755_043_497_68, 0.647_780_010_318_882_8,
        0.477_997_768_194_818_9]),
    (Activation::Silu, 2.5, [2.310_354_549_946_891, 1.099_401_111_341_526_7,
        -0.008_462_156_523_368_855]),
    (Activation::Silu, 9.0, [8.998_889_448_816_124, 1.000_987_019_571_897_5,
        -0.000_863_381_410_188_047_9]),
    (Activation::Silu, 36.0, [35.999_999_999_999_99, 1.000_000_000_000_008_2,
        -7.886_377_622_828_128e-15]),
    (Activation::Softplus, -30.0, [9.357_622_968_839_737e-14, 9.357_622_968_839_299e-14,
        9.357_622_968_838_423e-14]),
    (Activation::Softplus, -6.5, [0.001_502_310_159_754_283_8, 0.001_501_182_256_736_991_5,
        0.001_498_928_708_569_049_6]),
    (Activation::Softplus, -1.25, [0.251_929_081_345_372_9, 0.222_700_138_825_308_84,
        0.173_104_786_992_497]),
    (Activation::Softplus, -0.1, [0.644_396_660_073_570_9, 0.475_020_812_521_06,
        0.249_376_040_192_891_97]),
    (Activation::Softplus, 0.0, [std::f64::consts::LN_2, 0.5, 0.25]),
    (Activation::Softplus, 0.3, [0.854_355_244_468_527_1, 0.574_442_516_811_659,
        0.244_458_311_690_745_86]),
    (Activation::Softplus, 2.5, [2.578_889_734_292_549_6, 0.924_141_819_978_756_4,
        0.070_103_716_545_108_16]),
    (Activation::Softplus, 9.0, [9.000_123_402_189_724, 0.999_876_605_424_013_8,
        0.000_123_379_349_764_848_9]),
    (Activation::Softplus, 36.0, [36.0, 0.999_999_999_999_999_8, 2.319_522_830_243_568e-16]),
];

#[test]
fn smooth_activations_are_accurate_down_into_their_tails() {
    for &(activation, t, [value, first, second]) in KNOWN {
        // Relative: a tail of 1e-13 has all its digits. Around the zero of a derivative absolute
        // accuracy must do.
        let near = Mixed { relative: 2e-14, absolute: if t.abs() < 3.0 { 1e-16 } else { 0.0 } };
        assert_close!(activation.value(t), value, near);
        assert_close!(activation.derivative(t), first, near);
        assert_close!(activation.second_derivative(t), second, near);
    }
}

#[test]
fn piecewise_linear_activations_by_hand() {
    for (t, relu, slope, leaky, leaky_slope) in
        [(-3.0, 0.0, 0.0, -0.03, 0.01), (0.0, 0.0, 0.0, 0.0, 0.01), (2.5, 2.5, 1.0, 2.5, 1.0)]
    {
        let found = [Activation::Relu.value(t), Activation::Relu.derivative(t)];
        assert_eq!(found, [relu, slope]);
        let found = [Activation::LeakyRelu.value(t), Activation::LeakyRelu.derivative(t)];
        assert_eq!(found, [leaky, leaky_slope]);
    }
    assert!(Activation::Relu.is_piecewise_linear() && Activation::LeakyRelu.is_piecewise_linear());
    assert!(!Activation::Softplus.is_piecewise_linear());
}

#[test]
fn huge_arguments_neither_overflow_nor_become_nan() {
    for activation in Activation::ALL {
        for t in [-1e308_f64, -1e200, -800.0, 800.0, 1e200, 1e308] {
            let limit = match activation {
                Activation::Tanh => t.signum(),
                Activation::Sigmoid if t > 0.0 => 1.0,
                Activation::LeakyRelu if t < 0.0 => 0.01 * t,
                Activation::Sigmoid => 0.0,
                _ => t.max(0.0),
            };
            assert_close!(activation.value(t), limit, Mixed { relative: 1e-15, absolute: 1e-300 });
            let slope = match activation {
                Activation::Tanh | Activation::Sigmoid => 0.0,
                Activation::LeakyRelu if t < 0.0 => 0.01,
                _ => f64::from(t > 0.0),
            };
            assert_close!(
                activation.derivative(t),
                slope,
                Mixed { relative: 1e-15, absolute: 1e-300 }
            );
            assert!(activation.second_derivative(t).abs() < 1e-300, "{activation} {t}");
        }
        assert!(activation.value(f64::NAN).is_nan(), "{activation} hides a NaN");
    }
}

#[test]
fn derivatives_are_those_of_the_value() {
    // Central differences of step h err by h²/6 times the third derivative, here below 5, and by
    // rounding.
    let h = 1e-5;
    for activation in Activation::ALL {
        for k in -40..40 {
            let t = f64::from(k) * 0.2 + 0.013;
            let slope = (activation.value(t + h) - activation.value(t - h)) / (2.0 * h);
            let bend = (activation.derivative(t + h) - activation.derivative(t - h)) / (2.0 * h);
            assert_close!(
                slope,
                activation.derivative(t),
                Mixed { relative: 0.0, absolute: 2e-10 }
            );
            assert_close!(
                bend,
                activation.second_derivative(t),
                Mixed { relative: 0.0, absolute: 2e-10 }
            );
        }
    }
}

#[test]
fn applied_in_place_it_is_the_value_to_the_bit() {
    let values: Vec<f64> = (-20..20).map(|k| f64::from(k) * 0.37).collect();
    for activation in Activation::ALL {
        let mut applied = values.clone();
        activation.apply(&mut applied);
        let one_by_one: Vec<f64> = values.iter().map(|&t| activation.value(t)).collect();
        assert_eq!(applied, one_by_one);
    }
}

#[test]
fn names_read_back_and_unknown_ones_are_listed() {
    for activation in Activation::ALL {
        assert_eq!(activation.name().parse(), Ok(activation));
    }
    assert_eq!(
        "swish".parse::<Activation>().unwrap_err().to_string(),
        "unknown activation 'swish' (known: relu, tanh, sigmoid, gelu, silu, softplus, leaky_relu)"
    );
    // The exact form of gelu: its tanh approximation gives 0.841 192 at 1.
    assert_close!(Activation::Gelu.value(1.0), 0.841_344_746_068_542_9, Relative(1e-15));
}
