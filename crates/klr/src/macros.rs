//! The macros that the generated modules are made of: a table row becomes a type and its traits.

/// Defines a record and its traits: name, tag, constructor byte, arity, fewest bytes, fields.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $name:ident $(<$lt:lifetime>)? = $wire:literal, tag $tag:expr, lo $lo:literal,
        arity $arity:literal $(+ [$($added:literal),*])?, min $min:literal
        $(, check $check:ident)? $(, shared $shared:ident)? $(, listed $listed:ident)? {
            $($field:ident: $ty:ty = $key:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name $(<$lt>)? {
            $(#[doc = concat!("`", $key, "`")] pub $field: $ty,)*
        }

        impl<'a> $crate::node::Node<'a> for $name $(<$lt>)? {
            const MIN: usize = $min;

            #[inline]
            fn read<S: $crate::node::Source<'a> + ?Sized>(
                source: &mut S,
            ) -> Result<Self, $crate::node::Failed> {
                let head = source.record(<Self as $crate::node::Typed<'a>>::INFO)?;
                let value = Self {
                    $($field: $crate::node::Node::read_field(source, $key, head)?,)*
                };
                source.close()?;
                $(source.checked($crate::checks::Checked::$check(&value));)?
                Ok(value)
            }

            $(
                fn read_boxed<S: $crate::node::Source<'a> + ?Sized>(
                    source: &mut S,
                ) -> Result<&'a $shared<'a>, $crate::node::Failed> {
                    if let Some(value) = source.recall_tensor() {
                        return Ok(value);
                    }
                    let mark = source.mark();
                    let value = <Self as $crate::node::Node<'a>>::read(source)?;
                    let value = source.arena().alloc(value);
                    source.remember_tensor(mark, value);
                    Ok(value)
                }
            )?

            $(
                fn read_list<S: $crate::node::Source<'a> + ?Sized>(
                    source: &mut S,
                ) -> Result<&'a [$listed], $crate::node::Failed> {
                    if let Some(list) = source.recall_pattern() {
                        return Ok(list);
                    }
                    let mark = source.mark();
                    let list = $crate::node::read_list(source)?;
                    source.remember_pattern(mark, list);
                    Ok(list)
                }
            )?

            #[inline]
            fn write<K: $crate::node::Sink + ?Sized>(&self, sink: &mut K) {
                $(if sink.checked($crate::checks::Checked::$check(self)) {
                    return;
                })?
                let head = false $(|| $crate::node::Node::is_head(&self.$field))*;
                sink.record(<Self as $crate::node::Typed<'a>>::INFO, head);
                $($crate::node::Node::write_field(&self.$field, sink, $key);)*
                sink.close();
            }
        }

        impl<'a> $crate::node::Typed<'a> for $name $(<$lt>)? {
            const INFO: &'static $crate::node::TypeInfo = &$crate::node::TypeInfo {
                name: $wire,
                kind: $crate::node::Kind::Record,
                tag: $tag,
                lo: $lo,
                ctors: &[$crate::node::Ctor {
                    name: $wire,
                    print: $wire,
                    arity: $arity,
                    added: &[$($($added),*)?],
                }],
            };
        }
    };
}
pub(crate) use record;

/// Defines the fields that schema head adds to a record.
macro_rules! group {
    ($(#[$meta:meta])* $name:ident $(<$lt:lifetime>)? { $($field:ident: $ty:ty = $key:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name $(<$lt>)? {
            $(#[doc = concat!("`", $key, "`")] pub $field: $ty,)*
        }

        impl<'a> $crate::node::Group<'a> for $name $(<$lt>)? {
            fn read_fields<S: $crate::node::Source<'a> + ?Sized>(
                source: &mut S,
            ) -> Result<Self, $crate::node::Failed> {
                Ok(Self { $($field: $crate::node::Node::read_field(source, $key, true)?,)* })
            }

            fn write_fields<K: $crate::node::Sink + ?Sized>(&self, sink: &mut K) {
                $($crate::node::Node::write_field(&self.$field, sink, $key);)*
            }
        }
    };
}
pub(crate) use group;

/// Defines a union and its traits: name, tag, fewest bytes, whether it can contain itself, constructors with their
/// wire byte, table name, printed name, arity and fields.
macro_rules! union {
    (
        $(#[$meta:meta])*
        $name:ident $(<$lt:lifetime>)? = $wire:literal, tag $tag:literal, min $min:literal, deep $deep:literal {
            $($(#[$vmeta:meta])* $lo:literal $variant:ident = $ctor:literal, $print:literal, $arity:literal
                $(($one:ident: $one_ty:ty = $one_key:literal))?
                $({ $($field:ident: $ty:ty = $key:literal),+ $(,)? })?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name $(<$lt>)? {
            $(
                #[doc = concat!("`", $ctor, "`")]
                $(#[$vmeta])*
                $variant
                    $((#[doc = concat!("`", $one_key, "`")] $one_ty))?
                    $({ $(#[doc = concat!("`", $key, "`")] $field: $ty),+ })?,
            )*
        }

        impl $(<$lt>)? $name $(<$lt>)? {
            /// The constructor byte on the wire, from 0.
            #[must_use]
            pub const fn wire(&self) -> u8 {
                match self {
                    $(Self::$variant { .. } => $lo,)*
                }
            }

            /// The number that the consumer uses in memory and in messages: the constructor byte plus 1.
            #[must_use]
            pub const fn kind(&self) -> u8 {
                self.wire() + 1
            }
        }

        impl<'a> $crate::node::Node<'a> for $name $(<$lt>)? {
            const MIN: usize = $min;

            #[inline]
            fn read<S: $crate::node::Source<'a> + ?Sized>(
                source: &mut S,
            ) -> Result<Self, $crate::node::Failed> {
                if $deep {
                    source.descend()?;
                }
                let value = match source.union(<Self as $crate::node::Typed<'a>>::INFO)? {
                    $($lo => Self::$variant
                        $((<$one_ty as $crate::node::Node<'a>>::read_field(source, $one_key, false)?))?
                        $({ $($field: $crate::node::Node::read_field(source, $key, false)?),+ })?,)*
                    _ => return Err($crate::node::Failed),
                };
                source.close()?;
                if $deep {
                    source.ascend();
                }
                Ok(value)
            }

            #[inline]
            fn write<K: $crate::node::Sink + ?Sized>(&self, sink: &mut K) {
                match self {
                    $(Self::$variant $(($one))? $({ $($field),+ })? => {
                        sink.union(<Self as $crate::node::Typed<'a>>::INFO, $lo);
                        $($crate::node::Node::write_field($one, sink, $one_key);)?
                        $($($crate::node::Node::write_field($field, sink, $key);)+)?
                        sink.close();
                    })*
                }
            }
        }

        impl<'a> $crate::node::Typed<'a> for $name $(<$lt>)? {
            const INFO: &'static $crate::node::TypeInfo = &$crate::node::TypeInfo {
                name: $wire,
                kind: $crate::node::Kind::Union,
                tag: Some($tag),
                lo: 0,
                ctors: &[$($crate::node::Ctor { name: $ctor, print: $print, arity: $arity, added: &[] },)*],
            };
        }
    };
}
pub(crate) use union;

/// Defines an enum and its traits: name, tag, constructors in wire order.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $name:ident = $wire:literal, tag $tag:literal { $($variant:ident = $ctor:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $ctor, "`")] $variant,)*
        }

        impl $name {
            /// All values, in wire order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The name in the schema.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $ctor,)*
                }
            }

            /// The constructor byte on the wire, from 0.
            #[must_use]
            pub const fn wire(self) -> u8 {
                self as u8
            }

            /// The number that the consumer uses in memory and in messages: the constructor byte plus 1.
            #[must_use]
            pub const fn kind(self) -> u8 {
                self as u8 + 1
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl<'a> $crate::node::Node<'a> for $name {
            const MIN: usize = 4;

            #[inline]
            fn read<S: $crate::node::Source<'a> + ?Sized>(
                source: &mut S,
            ) -> Result<Self, $crate::node::Failed> {
                let index = source.enumeration(<Self as $crate::node::Typed<'a>>::INFO)?;
                $name::ALL.get(index).copied().ok_or($crate::node::Failed)
            }

            #[inline]
            fn write<K: $crate::node::Sink + ?Sized>(&self, sink: &mut K) {
                sink.enumeration(<Self as $crate::node::Typed<'a>>::INFO, *self as usize);
            }
        }

        impl<'a> $crate::node::Typed<'a> for $name {
            const INFO: &'static $crate::node::TypeInfo = &$crate::node::TypeInfo {
                name: $wire,
                kind: $crate::node::Kind::Enum,
                tag: Some($tag),
                lo: 0,
                ctors: &[$($crate::node::Ctor { name: $ctor, print: $ctor, arity: 0, added: &[] },)*],
            };
        }
    };
}
pub(crate) use choice;

/// Defines the list of a module's types, for reading by name.
macro_rules! types {
    ($($name:ident $(<$lt:lifetime>)?,)*) => {
        /// The types of this schema that can be read by name.
        pub static TYPES: &[$crate::node::TypeEntry] = &[$(
            $crate::node::TypeEntry {
                info: <$name $(<$lt>)? as $crate::node::Typed<'_>>::INFO,
                read_cbor: |source| $crate::node::read_tree::<$name $(<$lt>)?, _>(source),
                read: |source| $crate::node::read_tree::<$name $(<$lt>)?, _>(source),
            },
        )*];
    };
}
pub(crate) use types;
