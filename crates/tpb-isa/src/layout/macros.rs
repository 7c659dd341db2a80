//! The macros that the generated tables are rows of. One row becomes both a typed field and its description, so that the
//! two cannot disagree.

/// Declares open enums: `Name TABLE = "table name" { CONSTANT code "name" generations; ... }`.
macro_rules! open_enums {
    ($(
        $(#[$meta:meta])*
        $Name:ident $TABLE:ident = $name:literal { $($CODE:ident $code:literal $text:literal $generations:literal;)* }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $Name(pub u8);

        static $TABLE: EnumInfo = EnumInfo {
            name: $name,
            codes: { const CODES: &[Code] = &[$(Code { code: $code, name: $text, generations: $generations }),*]; CODES },
            index: index_codes(&[$(Code { code: $code, name: $text, generations: $generations }),*]),
            texts: { const TEXTS: &[$crate::layout::Padded] = &[$($crate::layout::Padded::new($text)),*]; TEXTS },
        };

        impl $Name {
            $(
                #[doc = concat!("Code ", $code, ", `", $text, "`.")]
                pub const $CODE: $Name = $Name($code);
            )*

            /// The enum as data.
            pub const fn info() -> &'static EnumInfo {
                &$TABLE
            }

            /// Name of the code, if it has one.
            pub fn name(self) -> Option<&'static str> {
                $TABLE.code(self.0).map(|code| code.name)
            }
        }

        impl std::fmt::Debug for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($Name), "({:#x})"), self.0),
                }
            }
        }

        impl $crate::Pack for $Name {
            const BYTES: usize = 1;

            #[inline(always)]
            fn load(word: &[u8; $crate::WORD_BYTES], at: usize) -> Self {
                $Name(word[at])
            }

            #[inline(always)]
            fn store(self, word: &mut [u8; $crate::WORD_BYTES], at: usize) {
                word[at] = self.0;
            }
        }

        impl $crate::PackBits for $Name {
            #[inline(always)]
            fn from_bits(bits: u8) -> Self {
                $Name(bits)
            }

            #[inline(always)]
            fn to_bits(self) -> u8 {
                self.0
            }
        }
    )* };
}
pub(crate) use open_enums;

macro_rules! load_field {
    ($word:ident, $at:expr, $ty:ty) => {
        <$ty as $crate::Pack>::load($word, $at)
    };
    ($word:ident, $at:expr, $ty:ty, $first:literal $last:literal) => {
        <$ty as $crate::PackBits>::from_bits($word[$at] >> $first & $crate::layout::mask8($last - $first + 1))
    };
}
pub(crate) use load_field;

macro_rules! store_field {
    ($word:ident, $at:expr, $value:expr) => {
        $crate::Pack::store($value, $word, $at)
    };
    ($word:ident, $at:expr, $value:expr, $first:literal $last:literal) => {{
        let mask = $crate::layout::mask8($last - $first + 1);
        let bits = ($crate::PackBits::to_bits($value) & mask) << $first;
        $word[$at] = $word[$at] & !(mask << $first) | bits;
    }};
}
pub(crate) use store_field;

macro_rules! field_bytes {
    ($ty:ty) => {
        <$ty as $crate::Pack>::BYTES as u8
    };
    ($ty:ty, $first:literal $last:literal) => {
        1
    };
}
pub(crate) use field_bytes;

macro_rules! option {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}
pub(crate) use option;

/// Declares structs: `Name TABLE = "table name" bytes { at field "name": Type = kind [, bits first last]; ... }`.
macro_rules! structs {
    ($(
        $(#[$meta:meta])*
        $Name:ident $TABLE:ident = $name:literal $bytes:literal {
            $($(#[$fmeta:meta])* $at:literal $field:ident $text:literal: $ty:ty = $kind:expr $(, bits $first:literal $last:literal)?;)*
        }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $Name { $($(#[$fmeta])* pub $field: $ty,)* }

        pub(crate) static $TABLE: StructInfo = {
            const FIELDS: &[FieldInfo] = &[$(FieldInfo {
                field: None,
                name: $text,
                at: $at,
                bytes: field_bytes!($ty $(, $first $last)?),
                bits: option!($(($first, $last))?),
                kind: $kind,
                value: None,
                when: None,
            }),*];
            StructInfo { name: $name, bytes: $bytes, fields: FIELDS, gaps: gaps(FIELDS, $bytes), shape: shape($name) }
        };

        impl $Name {
            /// The struct as data.
            pub const fn info() -> &'static StructInfo {
                &$TABLE
            }
        }

        impl $crate::Pack for $Name {
            const BYTES: usize = $bytes;

            #[inline(always)]
            fn load(word: &[u8; $crate::WORD_BYTES], at: usize) -> Self {
                Self { $($field: load_field!(word, at + $at, $ty $(, $first $last)?),)* }
            }

            #[inline(always)]
            fn store(self, word: &mut [u8; $crate::WORD_BYTES], at: usize) {
                $(store_field!(word, at + $at, self.$field $(, $first $last)?);)*
            }
        }
    )* };
}
pub(crate) use structs;

/// Declares unions: `Name TABLE = "table name" { Direct, Indirect }`.
macro_rules! unions {
    ($(
        $(#[$meta:meta])*
        $Name:ident $TABLE:ident = $name:literal { $Direct:ident, $Indirect:ident }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name {
            /// The static form.
            Direct($Direct),
            /// The form whose first address has bit 29 set.
            Indirect($Indirect),
        }

        pub(crate) static $TABLE: UnionInfo = UnionInfo { name: $name, direct: $Direct::info(), indirect: $Indirect::info() };

        impl Default for $Name {
            fn default() -> Self {
                $Name::Direct(Default::default())
            }
        }

        impl $crate::Pack for $Name {
            const BYTES: usize = <$Direct as $crate::Pack>::BYTES;

            #[inline(always)]
            fn load(word: &[u8; $crate::WORD_BYTES], at: usize) -> Self {
                if $crate::Addr4::load(word, at).is_indirect() {
                    $Name::Indirect($crate::Pack::load(word, at))
                } else {
                    $Name::Direct($crate::Pack::load(word, at))
                }
            }

            #[inline(always)]
            fn store(self, word: &mut [u8; $crate::WORD_BYTES], at: usize) {
                match self {
                    $Name::Direct(slot) => slot.store(word, at),
                    $Name::Indirect(slot) => slot.store(word, at),
                }
            }
        }
    )* };
}
pub(crate) use unions;

/// Declares the layouts with [`Layout`] and [`Body`](crate::Body) over them:
/// `Name = "table name", preamble, body, spare step, [unknown ranges] { at field Field: Type = kind [, value v] [, when byte v]; ... }`.
macro_rules! layouts {
    ($(
        $(#[$meta:meta])*
        $Name:ident = $name:literal, $preamble:ident, $body:ident, spare $spare:literal, unknown $unknown:expr, {
            $($(#[$fmeta:meta])* $at:literal $field:ident $Field:ident: $ty:ty = $kind:expr $(, value $value:literal)? $(, when $when:literal $is:literal)?;)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            pub struct $Name { $($(#[$fmeta])* pub $field: $ty,)* }

            impl $Name {
                #[inline(always)]
                #[allow(unused_variables)]
                fn load(word: &[u8; $crate::WORD_BYTES]) -> Self {
                    Self { $($field: <$ty as $crate::Pack>::load(word, $at),)* }
                }

                #[inline(always)]
                #[allow(unused_variables)]
                fn store(self, word: &mut [u8; $crate::WORD_BYTES]) {
                    $($crate::Pack::store(self.$field, word, $at);)*
                }
            }

            impl From<$Name> for Body {
                fn from(body: $Name) -> Body {
                    Body::$Name(body)
                }
            }
        )*

        /// The shape of a word's body.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Layout {
            $($(#[$meta])* $Name,)*
        }

        impl Layout {
            /// Every layout, in the order of the tables.
            pub const ALL: &'static [Layout] = &[$(Layout::$Name),*];

            /// The layout as data.
            #[inline]
            pub fn info(self) -> &'static LayoutInfo {
                &LAYOUTS[self as usize]
            }
        }

        /// The fields of a word behind its preamble, one variant per layout.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Body {
            $($(#[$meta])* $Name($Name),)*
        }

        impl Body {
            /// The layout of the body.
            pub fn layout(&self) -> Layout {
                match self {
                    $(Body::$Name(_) => Layout::$Name,)*
                }
            }

            #[inline]
            pub(crate) fn load(layout: Layout, word: &[u8; $crate::WORD_BYTES]) -> Body {
                match layout {
                    $(Layout::$Name => Body::$Name($Name::load(word)),)*
                }
            }

            pub(crate) fn store(self, word: &mut [u8; $crate::WORD_BYTES]) {
                match self {
                    $(Body::$Name(body) => body.store(word),)*
                }
            }
        }

        pub(crate) static LAYOUTS: [LayoutInfo; Layout::ALL.len()] = [$({
            const FIELDS: &[FieldInfo] = &[$(FieldInfo {
                field: Some(Field::$Field),
                name: stringify!($field),
                at: $at,
                bytes: field_bytes!($ty),
                bits: None,
                kind: $kind,
                value: option!($($value)?),
                when: option!($(($when, $is))?),
            }),*];
            LayoutInfo {
                name: $name,
                preamble: PreambleKind::$preamble,
                body: BodyKind::$body,
                spare_step: $spare,
                unknown: byte_mask(&$unknown),
                fields: FIELDS,
                covered: cover_layout(PreambleKind::$preamble, FIELDS),
                unions: $crate::layout::unions_of(FIELDS),
                conditional: $crate::layout::conditional(FIELDS),
            }
        }),*];
    };
}
pub(crate) use layouts;

macro_rules! layout_option {
    (_) => {
        None
    };
    ($Layout:ident) => {
        Some(Layout::$Layout)
    };
}
pub(crate) use layout_option;

/// Declares the opcodes, by code: `CONSTANT code "name" "label", Class, engines [..], emitters [..], family "..",
/// layouts [v2 v3 v4 v5], encoded mask [, fixed [Field value]] [, follows code];`.
macro_rules! opcodes {
    ($(
        $(#[$meta:meta])*
        $CODE:ident $code:literal $name:literal $label:literal, $Class:ident, engines $engines:expr, emitters $emitters:expr,
        family $family:literal, layouts [$($layout:tt)*], encoded $encoded:literal
        $(, fixed [$($Field:ident $value:literal),*])? $(, follows $follows:literal)?;
    )*) => {
        /// Byte 0 of a word. Bytes without a constant are reserved.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct Opcode(pub u8);

        impl Opcode {
            $($(#[$meta])* pub const $CODE: Opcode = Opcode($code);)*
        }

        impl std::fmt::Debug for Opcode {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match OPCODES.iter().find(|row| row.code == self.0) {
                    Some(row) => f.write_str(row.name),
                    None => write!(f, "Opcode({:#04x})", self.0),
                }
            }
        }

        pub(crate) static OPCODES: &[OpcodeInfo] = {
            const ROWS: &[OpcodeInfo] = &[$(OpcodeInfo {
                code: $code,
                name: $name,
                label: $label,
                class: OpcodeClass::$Class,
                engines: &$engines,
                emitters: &$emitters,
                family: $family,
                fixed: &[$($((Field::$Field, $value)),*)?],
                follows: option!($($follows)?),
                layouts: [$(layout_option!($layout)),*],
                encoded: $encoded,
            }),*];
            ROWS
        };
    };
}
pub(crate) use opcodes;
