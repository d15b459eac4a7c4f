//! Colours, dashes and markers that tell series apart, with and without colour.
