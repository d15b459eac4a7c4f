//! Gemini's own dialect: `generateContent`.
