"""Google's generateContent, the format of Gemini."""
