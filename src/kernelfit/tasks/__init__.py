"""What is fitted: losses as dual problems, their certificates, several classes."""
